"""The rules and the record: protocol, play, schedule, tournament, store, registry."""
