"""`key__among=keys`: is a key one of many? They travel as one array.

`key__in` writes each key as a parameter of its own: for hundreds of them that costs more than most queries do.
"""

from __future__ import annotations

from typing import Any

from django.db.models import BigAutoField, ForeignKey, Lookup


@BigAutoField.register_lookup
@ForeignKey.register_lookup
class Among(Lookup):
    """The keys are whole numbers, in a list, a set or a mapping; where there are none nothing matches."""

    lookup_name = "among"
    prepare_rhs = False

    def get_db_prep_lookup(self, value: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (sorted(set(value)),)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        key, key_params = self.process_lhs(compiler, connection)
        keys, keys_params = self.process_rhs(compiler, connection)
        return f"{key} = ANY ({keys}::bigint[])", (*key_params, *keys_params)
