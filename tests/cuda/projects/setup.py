# As the extensions of Python packages are built: objects by nvcc, the shared library by the C++
# compiler, both from a list of words.
import ctypes
import os
import subprocess
import sys

nvcc, folder = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
cuda = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
libraries = [os.path.join(cuda, each) for each in ("lib64", "lib")]
options = ["-gencode=arch=compute_90,code=sm_90", "-Xcompiler", "-fPIC"]
subprocess.check_call([nvcc, *options, "-Dmain=run", "-rdc=true", "-c", here + "/main.cu",
                       here + "/halves.cu"], cwd=folder)
subprocess.check_call([nvcc, *options, "-dlink", "-o", "linked.o", "main.o", "halves.o"],
                      cwd=folder)
subprocess.check_call(["c++", "-shared", "-o", "extension.so", "main.o", "halves.o", "linked.o"]
                      + ["-L" + each for each in libraries]
                      + ["-lcudadevrt", "-lcudart_static", "-ldl", "-lrt", "-lpthread"], cwd=folder)
library = ctypes.CDLL(os.path.join(folder, "extension.so"))
sys.exit(getattr(library, "_Z3runv")())
