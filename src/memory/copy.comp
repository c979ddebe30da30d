#version 450
// Copies or fills rows of any length, at any alignment. A unit is the part of a row that lies in 16
// bytes of the target at a multiple of 16: an invocation has the same unit of some rows.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x = 128) in;

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Unit {
  uvec4 it;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
  uint it[5];
};
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Bytes {
  uint8_t it[16];
};

// CopyKernel::Push
layout(push_constant) uniform Push {
  uint64_t from, to;  // addresses of the first rows; from 0: a fill
  uint64_t from_pitch, from_slice, to_pitch, to_slice, width;
  uint rows, slices;
  uint lanes;  // of a workgroup's invocations along a row, a power of two
  uint word;   // of a fill: what lies at multiples of 4
};

uvec4 read(uint64_t at) {
  if (from == 0) return uvec4(word);
  if ((uint(at) & 15) == 0) return Unit(at).it;
  const uint shift = (uint(at) & 3) * 8;
  Words words = Words(at - (at & 3));
  const uvec4 low = uvec4(words.it[0], words.it[1], words.it[2], words.it[3]);
  if (shift == 0) return low;
  return low >> shift | uvec4(low.yzw, words.it[4]) << (32 - shift);
}

void move(uint64_t source, uint64_t target, uint unit, uint step) {
  const uint head = uint(target) & 15;
  source -= head;
  target -= head;
  const uint units = uint(head + width + 15 >> 4), tail = uint(head + width - 1) & 15;
  for (; unit < units; unit += step) {
    const uint64_t at = uint64_t(unit) * 16;
    const uint first = unit == 0 ? head : 0, last = unit == units - 1 ? tail : 15;
    if (first == 0 && last == 15) {
      Unit(target + at).it = read(source + at);
    } else {
      for (uint i = first; i <= last; ++i)
        Bytes(target + at).it[i] =
            from == 0 ? uint8_t(word >> i % 4 * 8) : Bytes(source + at).it[i];
    }
  }
}

void main() {
  const uint lane = gl_LocalInvocationIndex & lanes - 1;
  const uint unit = gl_WorkGroupID.x * lanes + lane, step = gl_NumWorkGroups.x * lanes;
  const uint at_once = gl_WorkGroupSize.x / lanes;
  const uint row = gl_WorkGroupID.y * at_once + gl_LocalInvocationIndex / lanes;
  for (uint z = gl_WorkGroupID.z; z < slices; z += gl_NumWorkGroups.z)
    for (uint y = row; y < rows; y += gl_NumWorkGroups.y * at_once)
      move(from + z * from_slice + y * from_pitch, to + z * to_slice + y * to_pitch, unit, step);
}
