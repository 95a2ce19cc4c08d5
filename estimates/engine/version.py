"""The version of the engine: it changes when a formula, a constant or a published default does."""

ENGINE_VERSION = "1.5"
