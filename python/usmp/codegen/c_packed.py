"""The packed interface: functions of tvm-ffi that TVM's runtime loads from a shared library.

Source: tvm-ffi's C API (`tvm/ffi/c_api.h`, `TVMFFISafeCallType`). Arguments are tensors: the
inputs, then the outputs, which are written, then the external pools, as bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import tvm

from usmp.codegen.c_entry_points import MainFunction, print_preamble
from usmp.codegen.c_pools import internal_pool_address, print_internal_pools
from usmp.codegen.c_text import c_string, quoted
from usmp.codegen.interface import Interface, IOTensor, PoolParameter

SYMBOL_PREFIX = "__tvm_ffi_"
"""What tvm-ffi puts before the name of a function to find its symbol."""

_CODES = {"bool": "kDLBool", "uint": "kDLUInt", "int": "kDLInt", "float": "kDLFloat"}

_CHECKS = """\
/* What an argument must be; of a pool, any shape of at least `size` bytes will do. */
struct tvmgen_argument {
  const char* name;
  const char* type;
  const int64_t* shape;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  int64_t alignment;
  int64_t size;
};

static int tvmgen_raise(const char* kind, const char* function, const char* name,
                        const char* text, const char* found) {
  const char* parts[5];
  parts[0] = function;
  parts[1] = ": ";
  parts[2] = name;
  parts[3] = text;
  parts[4] = found;
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, 5);
  return -1;
}

/* Element type and shape, as "int8[1, 4]"; of a shape of very many axes the first ones. */
static void tvmgen_describe(const DLTensor* tensor, char* text, size_t size) {
  static const char* const codes[] = {"int",    "uint",    "float", "handle",
                                      "bfloat", "complex", "bool"};
  const char* code = tensor->dtype.code < 7 ? codes[tensor->dtype.code] : "float";
  int bits = tensor->dtype.code == kDLBool ? 0 : tensor->dtype.bits;
  size_t used = (size_t)snprintf(text, size, bits ? "%s%d" : "%s", code, bits);
  int32_t axis;
  used += (size_t)snprintf(text + used, size - used, tensor->dtype.lanes > 1 ? "x%d[" : "[",
                           (int)tensor->dtype.lanes);
  for (axis = 0; axis < tensor->ndim && size - used > 32; ++axis) {
    used += (size_t)snprintf(text + used, size - used, axis ? ", %lld" : "%lld",
                             (long long)tensor->shape[axis]);
  }
  snprintf(text + used, size - used, "]");
}

static int tvmgen_is_contiguous(const DLTensor* tensor) {
  uint64_t stride = 1;
  int32_t axis;
  if (tensor->strides == NULL) return 1;
  for (axis = tensor->ndim - 1; axis >= 0; --axis) {
    if (tensor->shape[axis] != 1 && (uint64_t)tensor->strides[axis] != stride) return 0;
    stride *= (uint64_t)tensor->shape[axis];
  }
  return 1;
}

static int tvmgen_has_shape(const DLTensor* tensor, const struct tvmgen_argument* expected) {
  uint64_t elements = 1;
  int32_t axis;
  for (axis = 0; axis < tensor->ndim; ++axis) elements *= (uint64_t)tensor->shape[axis];
  if (expected->shape == NULL) return elements >= (uint64_t)expected->size;
  if (tensor->ndim != expected->ndim) return 0;
  for (axis = 0; axis < tensor->ndim; ++axis) {
    if (tensor->shape[axis] != expected->shape[axis]) return 0;
  }
  return 1;
}

/* The address of the first element of an argument, or an error that is raised. */
static int tvmgen_check(const char* function, const struct tvmgen_argument* expected,
                        const TVMFFIAny* value, uint8_t** address) {
  char text[256];
  const DLTensor* tensor;
  if (value->type_index == kTVMFFIDLTensorPtr) {
    tensor = (const DLTensor*)value->v_ptr;
  } else if (value->type_index == kTVMFFITensor) {
    /* A tensor object is the header of an object, then a DLTensor. */
    tensor = (const DLTensor*)(const void*)((const char*)value->v_obj + sizeof(TVMFFIObject));
  } else {
    return tvmgen_raise("TypeError", function, expected->name, expected->type,
                        "something that is no tensor");
  }
  tvmgen_describe(tensor, text, sizeof(text));
  if (tensor->dtype.code != expected->code || tensor->dtype.bits != expected->bits ||
      tensor->dtype.lanes != 1) {
    return tvmgen_raise("TypeError", function, expected->name, expected->type, text);
  }
  if (!tvmgen_has_shape(tensor, expected)) {
    return tvmgen_raise("ValueError", function, expected->name, expected->type, text);
  }
  if (tensor->device.device_type != kDLCPU) {
    snprintf(text, sizeof(text), "%d", (int)tensor->device.device_type);
    return tvmgen_raise("ValueError", function, expected->name,
                        " must be in memory of the CPU, not of a device of DLPack type ", text);
  }
  *address = (uint8_t*)tensor->data + tensor->byte_offset;
  if (expected->size > 0 && tensor->data == NULL) {
    return tvmgen_raise("ValueError", function, expected->name, " has no data", "");
  }
  if (expected->size > 0 && !tvmgen_is_contiguous(tensor)) {
    return tvmgen_raise("ValueError", function, expected->name, " must be contiguous", "");
  }
  if ((uintptr_t)*address % (uintptr_t)expected->alignment != 0) {
    snprintf(text, sizeof(text), "%lld", (long long)expected->alignment);
    return tvmgen_raise("ValueError", function, expected->name,
                        " must have an address that is a multiple of ", text);
  }
  return 0;
}

static int tvmgen_check_all(const char* function, const struct tvmgen_argument* expected,
                            int32_t count, const TVMFFIAny* values, int32_t given,
                            uint8_t** addresses) {
  int32_t index;
  if (given != count) {
    char text[64];
    snprintf(text, sizeof(text), "%d arguments, not %d", (int)count, (int)given);
    return tvmgen_raise("TypeError", function, "takes ", text, "");
  }
  for (index = 0; index < count; ++index) {
    if (tvmgen_check(function, &expected[index], &values[index], &addresses[index]) != 0) return -1;
  }
  return 0;
}
"""


@dataclass(frozen=True)
class _Argument:
    """One argument of the packed function; `shape` is None for a pool."""

    name: str
    type: str
    shape: list[int] | None
    dtype: str
    alignment_bytes: int
    size_bytes: int


def print_packed_source(interface: Interface, main: MainFunction) -> str:
    """The C11 source of the packed functions around `main`, which another source defines."""
    tensors = [*interface.inputs, *interface.outputs]
    arguments = [
        *(_tensor(tensor, "input") for tensor in interface.inputs),
        *(_tensor(tensor, "output") for tensor in interface.outputs),
        *(_pool(pool) for pool in interface.external_pools),
    ]
    parts = [
        print_preamble(interface),
        "#include <stdio.h>\n#include <tvm/ffi/c_api.h>\n",
        f"{main.declaration};\n",
        *print_internal_pools(interface),
        _CHECKS,
        *_table(arguments),
        _function(
            interface,
            "run",
            "arguments" if arguments else "0",
            len(arguments),
            main.call(
                [f"addresses[{index}]" for index in range(len(tensors))]
                + [_pool_address(interface, pool, len(tensors)) for pool in interface.pools]
            ),
        ),
    ]
    if interface.states:
        first = f"&arguments[{len(tensors)}]" if interface.external_pools else "0"
        body = "\n".join(
            f"  memset((uint8_t*){_state_pool(interface, str(state.pool_name))} + "
            f"{int(state.byte_offset)}, 0, {int(state.size_bytes)});"
            for state in interface.states
        )
        parts.append(_function(interface, "reset", first, len(interface.external_pools), body))
    return "\n".join(parts)


def _tensor(tensor: IOTensor, what: str) -> _Argument:
    dtype, shape = str(tensor.info.dtype), [int(extent) for extent in tensor.info.shape]
    itemsize = int(tvm.DataType(dtype).itemsize)
    name = f"{what} {quoted(tensor.info.name)}"
    return _Argument(name, f"{dtype}{shape}", shape, dtype, itemsize, tensor.info.size_bytes)


def _pool(pool: PoolParameter) -> _Argument:
    name, size = f"{pool.kind} pool {quoted(pool.name)}", pool.size_bytes
    return _Argument(name, f"uint8[{size}] or more", None, "uint8", pool.alignment_bytes, size)


def _table(arguments: list[_Argument]) -> list[str]:
    """The arguments as constant data."""
    if not arguments:
        return []
    shapes = [
        # A scalar has no extent; C has no array without elements.
        f"static const int64_t shape_{index}[] = {{{', '.join(map(str, argument.shape or [1]))}}};"
        for index, argument in enumerate(arguments)
        if argument.shape is not None
    ]
    rows = [_row(index, argument) for index, argument in enumerate(arguments)]
    table = "static const struct tvmgen_argument arguments[] = {\n" + "\n".join(rows) + "\n};\n"
    return ["\n".join([*shapes, table])]


def _row(index: int, argument: _Argument) -> str:
    kind = argument.dtype.rstrip("0123456789")
    shape = "0" if argument.shape is None else f"shape_{index}"
    values = [
        c_string(argument.name),
        c_string(f" must be {argument.type}, not "),
        shape,
        str(len(argument.shape or [])),
        _CODES[kind],
        str(int(tvm.DataType(argument.dtype).itemsize) * 8),
        str(argument.alignment_bytes),
        str(argument.size_bytes),
    ]
    return f"    {{{', '.join(values)}}},"


def _pool_address(interface: Interface, pool: PoolParameter, first: int) -> str:
    """The address of a pool, whose external ones are the arguments from `first` on."""
    if not pool.is_internal:
        return f"addresses[{first + interface.external_pools.index(pool)}]"
    return internal_pool_address(interface, pool)


def _state_pool(interface: Interface, name: str) -> str:
    return _pool_address(interface, next(p for p in interface.pools if p.name == name), 0)


def _function(interface: Interface, name: str, table: str, count: int, body: str) -> str:
    """A packed function that checks its arguments, then does what `body` says."""
    parameters = "void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result"
    head = f"int {SYMBOL_PREFIX}{interface.prefix}_{name}({parameters})"
    function = f'"{interface.prefix}_{name}"'
    lines = [
        f"TVM_FFI_DLL_EXPORT {head};\n",
        f"{head} {{",
        f"  uint8_t* addresses[{max(count, 1)}];",
        "  (void)self;",
        "  (void)result;",
        f"  if (tvmgen_check_all({function}, {table}, {count}, args, num_args, addresses) != 0) {{",
        "    return -1;",
        "  }",
        body,
        "  return 0;",
        "}\n",
    ]
    return "\n".join(lines)
