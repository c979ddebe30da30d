"""Writes the manifests of this folder, or to the folder that is named. A fluid takes hundreds of
launches, which nobody types.

ptxrun --checksums prints the checksums, which are kept here. SwiftShader and lavapipe give the same.
"""

import json
import pathlib
import sys

CHECKSUMS = {
    "automaton": "684c109d68b560efaf8c0890c68c9bf523926bd5948408c138a714352d9db615",
    "denoise": "422a4f40314ba1e487c19e373e756e08aeff78bc1956b45a45ffafc26620dc93",
    "fluid": "ed38ff7db8c777f7d5db61cf2e6dec98910e4ff8d75d55d6a5528774e4d31fcd",
    "image_filter": "6d62966cdeabcd5f60cf3a68dbb168f5390d13c5e74802cb57bd15d07c5ade29",
    "path_tracer": "7351e7fcb8fc9f71e6bc2685010492585fe328a9587bb5abfe8b35543721f78f",
    "volume": "ecf68336002e022ed3a39eda870c47eccf14bbc1e6ef834173dbc78234a83482",
}


def plane(form, channels, width, height):
    return {"geometry": "2d", "format": form, "channels": channels, "width": width,
            "height": height}


def launch(kernel, extent, block, *args, **more):
    """A block for each `block` texels; arguments are names of surfaces and whole numbers."""
    grid = [(size + part - 1) // part for size, part in zip(extent, block)]
    values = [{"s32": each} if isinstance(each, int) else
              each if isinstance(each, dict) else {"surface": each} for each in args]
    return {"kernel": kernel, "grid": grid, "block": block, "args": values, **more}


def write(name, description, surfaces, launches, textures=None):
    launches = ",\n".join("    " + json.dumps(each) for each in launches)
    head = {"description": description, "module": name + ".ptx"}
    lines = ["  " + json.dumps(key) + ": " + json.dumps(value) + "," for key, value in head.items()]
    shapes = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}"
                        for key, value in surfaces.items())
    if textures:
        lines.append('  "textures": ' + json.dumps(textures) + ",")
    output = {"surface": "picture", "png": name + ".png"}
    if CHECKSUMS[name]:
        output["sha256"] = CHECKSUMS[name]
    text = "\n".join(["{"] + lines + ['  "surfaces": {', shapes, "  },", '  "launches": [',
                                      launches, "  ],", '  "outputs": [' + json.dumps(output) + "]",
                                      "}"])
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    (path if path.is_dir() else path.parent).joinpath(name + ".json").write_text(text + "\n")


def automaton(size=256, steps=130, block=(16, 16)):
    cells = ["a", "b"]
    launches = [launch("scatter", (size, size), block, "a", size)]
    for _ in range(steps):
        launches.append(launch("step", (size, size), block, *cells, size))
        cells.reverse()
    launches.append(launch("paint", (size, size), block, cells[0], "picture", size))
    write("automaton", "a cyclic cellular automaton",
          {"a": plane("u8", 1, size, size), "b": plane("u8", 1, size, size),
           "picture": plane("u8", 4, size, size)}, launches)


def fluid(size=256, steps=40, rounds=10, block=(16, 16)):
    def run(kernel, *args):
        launches.append(launch(kernel, (size, size), block, *args, size))

    launches = []
    velocity, dye, pressure = ["v", "v2"], ["dye", "dye2"], ["p", "p2"]
    run("start", "v", "dye")
    for _ in range(steps):
        run("advect", *velocity)
        velocity.reverse()
        run("divergence", velocity[0], "source")
        for _ in range(rounds):
            run("relax", pressure[0], "source", pressure[1])
            pressure.reverse()
        run("project", velocity[0], pressure[0])
        run("advect_dye", dye[0], velocity[0], dye[1])
        dye.reverse()
    run("paint", dye[0], "picture")
    surfaces = {name: plane("f32", 2, size, size) for name in ("v", "v2")}
    surfaces |= {name: plane("f32", 4, size, size) for name in ("dye", "dye2")}
    surfaces |= {name: plane("f32", 1, size, size) for name in ("p", "p2", "source")}
    surfaces["picture"] = plane("u8", 4, size, size)
    write("fluid", "two layers of a fluid that slide past each other", surfaces, launches)


def path_tracer(width=240, height=160, paths=4, repeat=8, block=(16, 8)):
    extent = (width, height)
    write("path_tracer", "spheres, a mirror and a lamp, by light that is followed backwards",
          {"light": plane("f32", 4, width, height), "picture": plane("u8", 4, width, height)},
          [launch("trace", extent, block, "light", width, height, paths, repeat=repeat),
           launch("develop", extent, block, "light", "picture", width, height)])


def volume(size=48, width=208):
    write("volume", "rays through blobs of a density",
          {"density": {"geometry": "3d", "format": "f32", "channels": 1, "width": size,
                       "height": size, "depth": size},
           "picture": plane("u8", 4, width, width)},
          [launch("fill", (size, size, size), (8, 8, 4), "density", size),
           launch("render", (width, width), (16, 8), "density", "picture", size, width)])


def image_filter(width=384, height=256, block=(16, 16)):
    extent = (width, height)
    write("image_filter", "a drawing out of a photograph",
          {"photo": plane("u8", 4, width, height) | {"init": {"png": "../filter/input.png"}},
           "bright": plane("f32", 1, width, height), "blurred": plane("f32", 2, width, height),
           "picture": plane("u8", 4, width, height)},
          [launch("brightness", extent, block, "photo", "bright", width, height),
           launch("blur", extent, block, "bright", "blurred", width, height),
           launch("draw", extent, block, "photo", "blurred", "picture", width, height)])


def denoise(width=384, height=256, block=(16, 16), inner=12, weak=23):
    write("denoise", "a photograph without its grain, by products of matrices",
          {"photo": plane("u8", 4, width, height) | {"init": {"png": "../filter/input.png"}},
           "grainy": plane("u8", 4, width, height), "picture": plane("unorm8", 4, width, height)},
          [launch("add_grain", (width, height), block, "photo", "grainy", width, height),
           {"kernel": "denoise", "grid": [-(-width // inner), -(-height // inner)], "block": [32],
            "args": [{"texture": "tex"}, {"surface": "picture"}, {"s32": width}, {"s32": height},
                     {"s32": weak}]}],
          {"tex": {"resource": "grainy", "read": "normalized_float"}})


if __name__ == "__main__":
    automaton()
    fluid()
    path_tracer()
    volume()
    image_filter()
    denoise()
