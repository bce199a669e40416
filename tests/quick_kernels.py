"""Kernels of numba that are compiled in two thirds of the time, for tests: they play few moves and compile much."""

from typing import Any


def compile_kernels_quickly() -> None:
    """Compile without the passes over a whole module, and without optimisation where machine code is made.

    Left are the passes over each function, and those that numba itself adds. They keep a kernel fast enough for the
    few loops of the tests, and remove the addresses that keep a kernel out of the cache on disk.
    """
    from llvmlite import binding
    from numba.core import codegen  # reads NUMBA_OPT when it is imported

    make_target_machine = binding.Target.create_target_machine
    make_passes = codegen.CPUCodegen._module_pass_manager

    def target_machine(self: Any, **options: Any) -> Any:
        return make_target_machine(self, **{**options, "opt": 0})

    def module_passes(self: Any, **options: Any) -> Any:
        if options.get("cost") == "cheap":
            return make_passes(self, **options)
        return binding.create_new_module_pass_manager(), self._pass_builder(opt=0)

    binding.Target.create_target_machine = target_machine
    codegen.CPUCodegen._module_pass_manager = module_passes
