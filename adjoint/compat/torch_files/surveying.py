"""Which storages and names a pickle asks for, found without making what it describes."""

import pickle
from typing import Any

from adjoint.compat.torch_files.unpickling import WeightsUnpickler, as_python_3, expect


class Survey(WeightsUnpickler):
    """Goes through a pickle for the storages it asks for, and makes nothing else."""

    def find(self, module_name: str, global_name: str) -> Any:
        """Only kinds of storages matter."""
        expect(module_name, str)
        expect(global_name, str)
        found = self.names.get((module_name, global_name))
        return None if callable(found) else found

    def reduce(self) -> None:
        """Nothing is called."""
        self.last(2)
        self.stack.append(None)

    new_object = reduce

    def new_object_by_names(self) -> None:
        """Nothing is made."""
        self.last(3)
        self.stack.append(None)

    def build(self) -> None:
        """Nothing is filled."""
        self.last(1)

    def add_to_list(self, members: list[Any]) -> None:
        """Nothing is kept."""

    add_to_dict = add_to_set = add_to_list

    def new_frozenset(self, members: Any = ()) -> Any:
        """Nothing is made."""

    def check_result(self, root: Any) -> None:
        """There is none."""


class Names(Survey):
    """Goes through a pickle for the names that it asks for and that are not allowed."""

    def load(self) -> list[str]:
        """The names, each once."""
        self.refused: dict[str, None] = {}
        super().load()
        return list(self.refused)

    def find(self, module_name: str, global_name: str) -> Any:
        """Note a name that loading would refuse."""
        try:
            WeightsUnpickler.find(self, module_name, global_name)
        except pickle.UnpicklingError:
            self.refused[".".join(as_python_3(module_name, global_name))] = None
        return super().find(module_name, global_name)
