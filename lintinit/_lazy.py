"""libcst, imported when first used: the import costs more than checking most trees."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Lazy(ModuleType):
    """Stands for a module until somebody asks it for something."""

    def __getattr__(self, name: str) -> Any:
        try:
            module = importlib.import_module(self.__name__)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"lintinit needs {self.__name__}; install it with: pip install {self.__name__}", name=self.__name__
            ) from error
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


if TYPE_CHECKING:
    import libcst as cst
else:
    cst = _Lazy("libcst")

__all__ = ["cst"]
