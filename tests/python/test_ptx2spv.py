"""The Python package on the device that PTX2SPV_DEVICE names."""

import ctypes
import gc
import pathlib
import struct
import zlib

import numpy as np
import pytest

import ptx2spv
from ptx2spv import _declarations as c

HEAD = ".version 8.1\n.target sm_75\n.address_size 64\n"
SCALE = HEAD + """
.global .u32 bias = 3;
.global .surfref target;
.visible .entry scale(.param .u64 from, .param .u64 to, .param .f32 factor)
{
  .reg .b32 %r<4>;
  .reg .f32 %f<3>;
  .reg .b64 %d<3>;
  ld.param.u64 %d0, [from];
  ld.param.u64 %d1, [to];
  ld.param.f32 %f1, [factor];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  shl.b32 %r0, %r0, 2;
  suld.b.2d.b32.trap %r2, [%d0, {%r0, %r1}];
  mov.b32 %f0, %r2;
  mul.f32 %f0, %f0, %f1;
  mov.b32 %r2, %f0;
  sust.b.2d.b32.trap [%d1, {%r0, %r1}], %r2;
  ret;
}
.visible .entry add(.param .u64 values, .param .s32 amount)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<3>;
  ld.param.u64 %d0, [values];
  ld.param.u32 %r0, [amount];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d1, %r1, 4;
  add.u64 %d0, %d0, %d1;
  ld.global.u32 %r2, [%d0];
  add.u32 %r2, %r2, %r0;
  ld.global.u32 %r3, [bias];
  add.u32 %r2, %r2, %r3;
  st.global.u32 [%d0], %r2;
  ret;
}
.visible .entry by_reference()
{
  .reg .b32 %r<2>;
  mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 2;
  sust.b.1d.b32.trap [target, {%r1}], %r0;
  ret;
}
.visible .entry fetch(.param .u64 texture, .param .u64 out)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [texture];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d0, {%r0}];
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r1;
  ret;
}
.visible .entry row(.param .u64 texture, .param .u64 out)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [texture];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r5, 0;
  tex.2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d0, {%r0, %r5}];
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r1;
  ret;
}
.visible .entry takes(.param .u8 small, .param .s16 signed, .param .f64 wide, .param .b64 bits,
                      .param .align 4 .b8 pair[8]) { ret; }
"""


@pytest.fixture(scope="module")
def device():
    return ptx2spv.Device()


@pytest.fixture(scope="module")
def module(device):
    return device.module(SCALE)


def test_structs_have_their_sizes():
    # The library refuses a struct that is shorter than its own: these calls read each.
    assert ptx2spv.devices()
    assert ctypes.sizeof(c.ptx2spv_trap_report) % 8 == 0


def test_surfaces_from_and_to_numpy(device, module):
    values = np.arange(12, dtype="f4").reshape(3, 4)
    source, target = device.array(values), device.array(shape=(3, 4), format="f32")
    assert (source.geometry, source.shape, source.format) == ("2d", (3, 4), "f32")
    module["scale"][3, 4](source, target, 0.5)
    np.testing.assert_array_equal(target.download(), values * np.float32(0.5))


def test_shapes():
    split = ptx2spv._memory.split_shape
    assert split((5,), None, None) == ("1d", (5,), 1)
    assert split((5, 6), None, None) == ("2d", (5, 6), 1)
    assert split((5, 6, 4), None, None) == ("2d", (5, 6), 4)
    assert split((5, 6, 7), None, None) == ("3d", (5, 6, 7), 1)
    assert split((5, 6, 4), "3d", None) == ("3d", (5, 6, 4), 1)
    assert split((5, 6, 4), "a2d", None) == ("a2d", (5, 6, 4), 1)
    assert split((5, 6, 2), "a1d", None) == ("a1d", (5, 6), 2)
    with pytest.raises(ptx2spv.InvalidArgument, match="1, 2 or 4 channels"):
        split((5, 6, 3), "2d", None)
    with pytest.raises(ptx2spv.InvalidArgument, match="has 2 dimensions"):
        split((5,), "2d", None)


@pytest.mark.parametrize("geometry, shape", [
    ("1d", (7,)), ("2d", (3, 5)), ("3d", (2, 3, 5)), ("a1d", (3, 5)), ("a2d", (2, 3, 5)),
    ("2d", (3, 5, 2)), ("3d", (2, 3, 5, 4))])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "f2", "f4"])
def test_arrays_keep_their_texels(device, geometry, shape, dtype):
    values = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    array = device.array(values, geometry=geometry)
    assert array.shape == shape
    np.testing.assert_array_equal(array.download(), values)


def test_levels(device):
    array = device.array(shape=(8, 4), format="u8", levels=3)
    assert [array.level_shape(level) for level in range(3)] == [(8, 4), (4, 2), (2, 1)]
    values = np.arange(8, dtype="u1").reshape(4, 2)
    array.upload(values, 1)
    np.testing.assert_array_equal(array.download(1), values)
    assert not array.download(0).any()


def test_buffers_and_offsets(device, module):
    values = np.arange(8, dtype="u4")
    buffer = device.buffer(values)
    module["add"][1, 4]((buffer, 16), -1)
    np.testing.assert_array_equal(buffer.download(), [0, 1, 2, 3, 6, 7, 8, 9])
    assert device.buffer(64).tobytes() == bytes(64)
    assert buffer.download("u1").shape == (32,)


def test_views_share_the_memory(device):
    buffer = device.buffer(np.arange(4, dtype="f4"))
    try:
        view = buffer.view()
    except ptx2spv.Unsupported:
        pytest.skip("the device's memory is not the host's")
    view[1] = 10
    np.testing.assert_array_equal(buffer.download(), [0, 10, 2, 3])
    other = np.from_dlpack(buffer)
    assert other[1] == 10 and np.shares_memory(other, view)
    del buffer
    gc.collect()
    assert view[1] == 10  # the view keeps the memory


def test_read_only_and_strided_data(device):
    assert device.buffer(b"abcd").tobytes() == b"abcd"
    values = np.arange(16, dtype="u4").reshape(4, 4)
    np.testing.assert_array_equal(device.buffer(values[:, ::2]).download(), values[:, ::2])
    np.testing.assert_array_equal(device.array(values.T).download(), values.T)


def test_arguments_are_checked(module):
    kernel = module["takes"]
    assert [parameter.type for parameter in kernel.parameters] == ["u8", "s16", "f64", "b64", "b8"]
    good = [255, -32768, 1.5, -1, struct.pack("<ff", 1, 2)]
    kernel[1, 1](*good)
    for position, value, error in [(0, 256, OverflowError), (0, -1, OverflowError), (0, 1.5, TypeError),
                                   (1, 32768, OverflowError), (2, "text", TypeError),
                                   (2, 1j, TypeError), (4, b"short", TypeError), (0, None, TypeError)]:
        wrong = list(good)
        wrong[position] = value
        with pytest.raises(error, match=kernel.parameters[position].name):
            kernel[1, 1](*wrong)
    with pytest.raises(TypeError, match="takes 5 arguments"):
        kernel[1, 1](1)


def test_handles_need_parameters_of_their_size(device, module):
    with pytest.raises(TypeError, match="does not take a buffer"):
        module["add"][1, 1](device.buffer(4), device.buffer(4))


def test_traps_have_every_field(device, module):
    array = device.array(shape=(2, 4), format="f32", name="picture")
    with pytest.raises(ptx2spv.Trap) as caught:
        module["scale"][2, 5](array, array, 1.0)
    trap = caught.value
    assert (trap.kind, trap.kernel, trap.surface) == ("out_of_bounds", "scale", "picture")
    assert trap.thread == (4, 0, 0) and trap.coordinates[0] == 16
    assert "suld.b.2d.b32.trap" in trap.instruction and "suld" in str(trap)
    assert trap.extent[:2] == (16, 2) and trap.threads >= 1
    module["scale"][2, 4](array, array, 1.0)  # the device goes on


def test_traps_follow_the_source_through_inlining(device):
    text = HEAD + """
.visible .entry k(.param .u64 picture)
{
  .reg .b64 %d;
  .reg .b32 %r;
  .loc 1 12 3
  .loc 2 206 3, function_name $L__info_string0, inlined_at 1 12 3
  ld.param.u64 %d, [picture];
  mov.u32 %r, 1;
  sust.b.1d.b32.trap [%d, {64}], %r;
  ret;
}
.file 1 "kernel.cu"
.file 2 "surface.h"
"""
    line = device.array(shape=(4,), format="u32", name="line")
    with pytest.raises(ptx2spv.Trap) as caught:
        device.module(text)["k"][1, 1](line)
    trap = caught.value
    assert (trap.source_file, trap.source_line) == ("surface.h", 206)
    assert trap.inlined_at == (("kernel.cu", 12),)
    assert (trap.coordinate_names, trap.coordinates, trap.texel_bytes) == (("x",), (64,), 4)
    assert trap.thread_known and trap.block == (0, 0, 0) and trap.kernel == "k"
    assert trap.handle == line.surface().handle and trap.assertion == ""
    assert "surface access out of bounds" in trap.message and trap.reason == ""


# Every field of the C struct has an attribute here.
def test_traps_leave_no_field_out():
    fields = {name for name, _ in c.ptx2spv_trap_report._fields_}
    renamed = {"size": None, "trapped_threads": "threads", "message": "reason",
               "coordinate_count": "coordinates", "inlined_count": "inlined_at"}
    trap = ptx2spv.Trap("", "", c.ptx2spv_trap_report())
    for name in fields:
        wanted = renamed.get(name, name)
        assert wanted is None or hasattr(trap, wanted), name


OUTSIDE = HEAD + """
.visible .entry outside(.param .u64 to)
{
  .reg .b64 %d;
  ld.param.u64 %d, [to];
  st.global.u32 [%d+16], 1;
  ret;
}
"""


def test_the_sanitizer_reports(capsys):
    seen = []
    device = ptx2spv.Device(sanitize="memory", report=seen.append)
    kernel = device.module(OUTSIDE)["outside"]
    assert device.sanitizer_report() == ptx2spv.SanitizerReport((), 0)
    kernel[1, 2](device.buffer(32))
    assert not device.sanitizer_report().findings and not seen
    kernel[1, 2](device.buffer(16))
    (finding,) = device.sanitizer_report().findings
    assert (finding.kind, finding.access, finding.bytes, finding.memory) == (
        "out-of-bounds", "store", 4, "global")
    assert (finding.kernel, finding.line, finding.pointer, finding.threads) == ("outside", 9, "to", 2)
    assert (finding.distance, finding.inside, finding.object_bytes) == (0, False, 16)
    assert "module.ptx:9:" in str(finding) and "st.global.u32" in finding.instruction
    assert "out-of-bounds store of 4 bytes" in "".join(seen)
    # Without a callback Python's own stream has it, which notebooks show.
    loud = ptx2spv.Device(sanitize="memory")
    loud.module(OUTSIDE)["outside"][1, 1](loud.buffer(16))
    assert "out-of-bounds store" in capsys.readouterr().err
    with pytest.raises(ptx2spv.InvalidArgument, match="nonsense"):
        ptx2spv.Device(sanitize="nonsense")


def test_lists_suppress_findings(device):
    quiet = ptx2spv.Device(sanitize="memory", suppressions="memory kernel=outside")
    quiet.module(OUTSIDE)["outside"][1, 1](quiet.buffer(16))
    assert quiet.sanitizer_report() == ptx2spv.SanitizerReport((), 0, 1)
    kernel = device.module(OUTSIDE)["outside"]
    kernel.launch(1, 1, device.buffer(16), sanitize="memory", suppressions="* at=module.ptx:9")
    assert device.sanitizer_report().suppressed == 1
    with pytest.raises(ptx2spv.InvalidArgument, match="suppressions:1:1"):
        ptx2spv.Device(suppressions="nonsense")


def test_one_launch_asks_for_checks(device):
    kernel = device.module(OUTSIDE)["outside"]
    kernel.launch(1, 1, device.buffer(16), sanitize="memory")
    assert device.sanitizer_report().findings[0].kernel == "outside"
    with pytest.raises(ptx2spv.InvalidArgument, match="nonsense"):
        kernel.launch(1, 1, device.buffer(32), sanitize="nonsense")


def test_an_executor_is_chosen(device):
    for executor, on_host in (("device", 0), ("host", 1)):
        device = ptx2spv.Device(executor=executor)
        device.module(OUTSIDE)["outside"].launch(1, 1, device.buffer(32))
        assert device.statistics()["interpreted_launches"] == on_host
    with pytest.raises(ValueError, match="both"):
        ptx2spv.Device(executor="both")


def test_launches_have_a_time_limit():
    device = ptx2spv.Device(timeout=0.01)
    slow = device.module(HEAD + """
.visible .entry slow(.param .u64 to)
{
  .reg .b32 %r<3>;
  .reg .b64 %d;
  .reg .pred %p;
  ld.param.u64 %d, [to];
  mov.u32 %r0, 0;
again:
  mad.lo.u32 %r1, %r1, 1664525, 1013904223;
  xor.b32 %r1, %r1, %r0;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p, %r0, 50000;
  @%p bra again;
  st.global.u32 [%d], %r1;
  ret;
}""")["slow"]
    with pytest.raises(ptx2spv.TimedOut, match="slow"):
        slow[256, 32](device.buffer(4))


def test_references_and_globals(device, module):
    line = device.array(shape=(4,), format="u32")
    module["by_reference"].launch(1, 4, surfrefs={"target": line})
    assert line.download().tolist() == [0, 1, 2, 3]
    line.upload(np.zeros(4, "u4"))
    module.bind("target", line)
    module["by_reference"][1, 4]()
    assert line.download().tolist() == [0, 1, 2, 3]
    assert module.get_global("bias") == struct.pack("<I", 3)
    module.set_global("bias", np.array([5], "u4"))
    values = device.buffer(np.zeros(1, "u4"))
    module["add"][1, 1](values, 0)
    module.set_global("bias", np.array([3], "u4"))
    assert values.download().tolist() == [5]


def test_textures(device, module):
    line = device.array(np.array([[4, 5, 6]], "u4"))
    out = device.buffer(np.zeros(4, "u4"))
    module["row"][1, 4](line.texture(address="clamp"), out)
    assert out.download().tolist() == [4, 5, 6, 0]
    memory = device.buffer(np.arange(8, dtype="u4"))
    module["fetch"][1, 4](device.texture(memory, "u32", width=4, offset=16), out)
    assert out.download().tolist() == [4, 5, 6, 7]
    with pytest.raises(ptx2spv.InvalidArgument, match="address mode"):
        line.texture(address="fold")


def test_streams_and_events(device, module):
    stream, values = device.stream(), device.buffer(np.zeros(4, "u4"))
    start, end = device.event(), device.event()
    stream.record(start)
    for _ in range(3):
        stream.launch(module["add"], 1, 4, values, 1)
    out = stream.download(values)
    stream.record(end)
    stream.synchronize()
    assert out.tolist() == [12] * 4 and end.done and stream.idle
    assert end.since(start) >= 0
    # A trap reaches the next synchronize.
    array = device.array(shape=(1, 1), format="f32")
    stream.launch(module["scale"], 1, 2, array, array, 1.0)
    with pytest.raises(ptx2spv.Trap):
        stream.synchronize()
    stream.synchronize()


def test_kernels_take_numpy(device):
    scale = ptx2spv.kernel(SCALE, "scale", device=device)
    source, target = np.ones((2, 4), "f4"), np.zeros((2, 4), "f4")
    scale[2, 4](source, target, 3)
    assert (target == 3).all() and (source == 1).all()
    add = ptx2spv.kernel(SCALE, "add", device=device)
    values = np.zeros(4, "u4")
    add[1, 4](values, 1)
    assert values.tolist() == [4] * 4
    with pytest.raises(ptx2spv.NotFound, match="6 kernels"):
        ptx2spv.kernel(SCALE, device=device)
    with pytest.raises(TypeError, match="may be a texture"):
        ptx2spv.kernel(SCALE, "fetch", device=device)[1, 1](values, values)


def test_printf_reaches_python():
    seen = []
    device = ptx2spv.Device(print=seen.append)
    device.module(HEAD + """
.extern .func (.param .b32 out) vprintf(.param .b64 format, .param .b64 values);
.global .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry hello()
{
  .reg .b64 %d<3>;
  mov.u64 %d0, text;
  cvta.global.u64 %d1, %d0;
  mov.u64 %d2, 0;
  { .param .b64 f; .param .b64 v; .param .b32 o; st.param.b64 [f], %d1; st.param.b64 [v], %d2;
    call (o), vprintf, (f, v); }
  ret;
}""")["hello"][1, 1]()
    assert "".join(seen) == "hello\n"


def test_translation_alone():
    made = ptx2spv.translate(SCALE, entry="scale")
    assert made.spirv[:4] == b"\x03\x02\x23\x07" and len(made.spirv) % 4 == 0
    assert [entry["name"] for entry in made.interface["entries"]] == ["scale"]
    with pytest.raises(ptx2spv.TranslationError, match="module.ptx:4:"):
        ptx2spv.translate(HEAD + ".visible .entry k() { nonsense; }")
    with pytest.raises(ptx2spv.InvalidArgument, match="no profile"):
        ptx2spv.translate(SCALE, profile="nothing")


def test_errors_have_their_types(device, tmp_path):
    with pytest.raises(ptx2spv.NoDevice):
        ptx2spv.Device("no such device")
    with pytest.raises(ptx2spv.NotFound, match="no kernel"):
        device.module(SCALE)["absent"]
    with pytest.raises(ptx2spv.TranslationError, match="bad.ptx:1"):
        path = tmp_path / "bad.ptx"
        path.write_text("garbage")
        device.module(path)
    with pytest.raises(ptx2spv.InvalidArgument, match="no format"):
        device.array(shape=(1,), format="u9")
    with pytest.raises(FileNotFoundError):
        device.module(pathlib.Path("absent.ptx"))


def test_linked_modules(device):
    caller = HEAD + """
.extern .func (.param .b32 out) triple(.param .b32 a);
.visible .entry k(.param .u64 to)
{
  .reg .b32 %r<2>;
  .reg .b64 %d;
  ld.param.u64 %d, [to];
  mov.u32 %r0, 14;
  { .param .b32 a; .param .b32 o; st.param.b32 [a], %r0; call (o), triple, (a); ld.param.b32 %r1, [o]; }
  st.global.u32 [%d], %r1;
  ret;
}"""
    callee = HEAD + """
.visible .func (.param .b32 out) triple(.param .b32 a)
{ .reg .b32 %r; ld.param.b32 %r, [a]; mul.lo.u32 %r, %r, 3; st.param.b32 [out], %r; ret; }"""
    values = device.buffer(np.zeros(1, "u4"))
    device.module(caller, callee)["k"][1, 1](values)
    assert values.download().tolist() == [42]


def chunks(data):
    position = 8
    while position < len(data):
        size, kind = struct.unpack(">I4s", data[position:position + 8])
        yield kind, data[position + 8:position + 8 + size]
        position += size + 12


@pytest.mark.parametrize("dtype, one, shown", [("u1", 200, 200), ("f4", 0.5, 128), ("u2", 0x1234, 0x12),
                                               ("i1", 0, 128), ("f4", -1, 0), ("f4", float("nan"), 0)])
def test_pictures(device, dtype, one, shown):
    png = device.array(np.full((2, 3, 4), one, dtype))._repr_png_()
    parts = dict(chunks(png))
    assert struct.unpack(">IIBB", parts[b"IHDR"][:10]) == (3, 2, 8, 6)
    rows = zlib.decompress(parts[b"IDAT"])
    assert rows == (b"\0" + bytes([shown]) * 12) * 2


def test_many_objects_go_away(device, module):
    before = device.statistics()["memory_used"]
    for _ in range(200):
        array = device.array(shape=(64, 64), format="f32")
        module["scale"][1, 1](array, array, 1.0)
        device.buffer(4096)
    del array
    gc.collect()
    assert device.statistics()["memory_used"] <= before + (1 << 20)
