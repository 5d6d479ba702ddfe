"""Compilation of planned TIR to object files by TVM's LLVM."""

from usmp.codegen.llvm.evaluate import evaluate
from usmp.codegen.llvm.expressions import UnsupportedByLLVM
from usmp.codegen.llvm.module import LLVMModule, compile_functions, compile_module
from usmp.codegen.llvm.target import check_llvm_target

__all__ = [
    "LLVMModule",
    "UnsupportedByLLVM",
    "check_llvm_target",
    "compile_functions",
    "compile_module",
    "evaluate",
]
