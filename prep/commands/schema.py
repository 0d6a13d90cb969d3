"""prep schema: the config's JSON Schema."""


def schema() -> None:
    """Print the JSON Schema of a study's config, for an editor to complete and check it.

    Example: prep schema > study.schema.json
    """
    from prep.commands.show import show_json
    from prep.study import study_schema

    show_json(study_schema())
