/* What a packed function checks of its arguments: emitted whole, without the headers. */
#include <stdint.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

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

static int tvmgen_raise(const char* kind, const char* function, const char* name, const char* text,
                        const char* found) {
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
