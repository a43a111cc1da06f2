/// The table of one DTO type, whatever the type: what each phase of a session's work asks of it.
protocol ErasedTable: EntityPhase, SavePhase, DeletePhase, UndoPhase, ComposePhase, ReleasePhase, PayloadPhase {}

extension EntityTable: ErasedTable {}
