// ptxexec build: which options compilers and linkers get, and that projects for NVIDIA GPUs build
// and run without a change.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cuda/programs.hpp"

namespace ptx2spv::test {
namespace {

using Words = std::vector<std::string>;

const std::string kProjects = std::string(PTX2SPV_SOURCE_DIR) + "/tests/cuda/projects";

/// Programs by the names of compilers that print their arguments and nvcc's variables.
class Recorders {
 public:
  Recorders() {
    for (const char* name :
         {"nvcc", "clang++", "x86_64-linux-gnu-clang-15", "clang-format", "clang-format-15", "ld",
          "x86_64-linux-gnu-ld.bfd", "ld.lld-15", "g++"}) {
      const std::string file = folder_.write(
          name, "#!/bin/sh\nprintf '%s ' \"$@\" $NVCC_PREPEND_FLAGS ${NVCC_APPEND_FLAGS:+after}\n");
      std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
  }
  const TemporaryFolder& folder() const { return folder_; }
  /// What a command's last program is given, in one line with a blank behind each word.
  std::string given(const Words& command, const Words& environment = {},
                    const Words& options = {"build"}) const {
    Words all = {tool_path("ptxexec")};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), command.begin(), command.end());
    Words variables = environment;
    variables.push_back("PATH=" + folder_.path() + ":/usr/local/bin:/usr/bin:/bin");
    const ProcessResult result = run_process(all, {}, variables);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.out;
  }

 private:
  TemporaryFolder folder_;
};

const std::string kAdded = "-gencode arch=compute_75,code=compute_75 ",
                  kAdded89 = "-gencode arch=compute_89,code=compute_89 ";

TEST(PtxexecBuild, NvccGetsPtxWhereItIsMissing) {
  PTX2SPV_NEEDS_PRELOADS;
  const Recorders record;
  const std::string options = record.folder().write("options", "-O3 \"-arch=sm_90\" -DX='a b'");
  const std::string harmless = record.folder().write("harmless", "-O3");
  const std::string added_80 = "-gencode arch=compute_80,code=compute_80 ";
  const std::string sm_90 = "-gencode arch=compute_90,code=[sm_90,compute_90] ";
  const struct {
    Words arguments;
    std::string given;
  } kRows[] = {
      {{"-arch=sm_90", "a.cu"}, "a.cu " + sm_90 + kAdded89},
      {{"--gpu-architecture", "sm_90a", "a.cu"},
       "a.cu -gencode arch=compute_90a,code=[sm_90a,compute_90a] " + kAdded89},
      {{"-arch=compute_80", "-code=sm_80,sm_86", "a.cu"},
       "a.cu -gencode arch=compute_80,code=[sm_80,sm_86] " + added_80},
      {{"-arch", "native", "a.cu"}, "a.cu " + kAdded},
      {{"-arch=all-major", "a.cu"}, "a.cu -arch=all-major " + kAdded},
      {{"-gencode", "arch=compute_80,code=sm_80", "a.cu"},
       "-gencode arch=compute_80,code=sm_80 a.cu " + added_80},
      {{"-gencode", "arch=compute_80,code=sm_86", "-gencode=arch=compute_90,code=compute_90"},
       "-gencode arch=compute_80,code=sm_86 -gencode arch=compute_90,code=compute_90 " + added_80},
      {{"-gencode", "arch=compute_61,code=sm_61", "-gencode=arch=compute_80,code=compute_80"},
       "-gencode arch=compute_61,code=sm_61 -gencode arch=compute_80,code=compute_80 " + kAdded},
      {{"--generate-code=arch=compute_75,code=[sm_75]", "-c"},
       "-gencode arch=compute_75,code=sm_75 -c " + kAdded},
      {{"-gencode", "arch=compute_100f,code=sm_100f", "-gencode=arch=compute_90a,code=sm_90a"},
       "-gencode arch=compute_100f,code=sm_100f -gencode arch=compute_90a,code=sm_90a " + kAdded89},
      {{"-arch=sm_90", "-dlto", "a.cu"}, "a.cu " + sm_90 + kAdded89},
      {{"-gencode", "arch=compute_80,code=lto_80"},
       "-gencode arch=compute_80,code=sm_80 " + added_80},
      {{"-arch=sm_90", "-Xcompiler", "-E", "--ptxas-options", "-M", "-cudart", "static"},
       "-Xcompiler -E --ptxas-options -M -cudart static " + sm_90 + kAdded89},
      {{"-optf", options, "a.cu"},
       "-O3 -DX=a b a.cu -gencode arch=compute_90,code=[sm_90,compute_90] " + kAdded89},
      {{"--options-file=" + harmless, "-arch=sm_90"},
       "--options-file=" + harmless + " " + sm_90 + kAdded89},
      // Those have what is needed, or make no program.
      {{"a.cu", "-o", "a"}, "a.cu -o a "},
      {{"-arch=sm_75", "a.cu"}, "-arch=sm_75 a.cu "},
      {{"-arch=sm_89", "a.cu"}, "-arch=sm_89 a.cu "},
      {{"-arch=compute_60", "a.cu"}, "-arch=compute_60 a.cu "},
      {{"-gencode", "arch=compute_90,code=sm_90", "-gencode=arch=compute_70,code=compute_70"},
       "-gencode arch=compute_90,code=sm_90 -gencode=arch=compute_70,code=compute_70 "},
      {{"-arch=sm_90", "-E", "a.cu"}, "-arch=sm_90 -E a.cu "},
      {{"-ptx", "-arch=sm_90", "a.cu"}, "-ptx -arch=sm_90 a.cu "},
      {{"--version"}, "--version "},
      // nvcc's own refusals.
      {{"-code=sm_90", "a.cu"}, "-code=sm_90 a.cu "},
      {{"-arch=native", "-code=sm_90", "a.cu"}, "-arch=native -code=sm_90 a.cu "},
      // PTX under the name of machine code.
      {{"-cubin", "-arch=sm_90", "dir/a.cu"}, "-ptx -arch=sm_90 dir/a.cu -o a.cubin "},
      {{"-arch=sm_90", "-o", "b.bin", "--cubin", "a.cu"}, "-arch=sm_90 -o b.bin -ptx a.cu "},
      {{"-cubin", "-arch=sm_90", "a.ptx"}, "-cubin -arch=sm_90 a.ptx "},
  };
  for (const auto& row : kRows) {
    Words command = {"nvcc"};
    command.insert(command.end(), row.arguments.begin(), row.arguments.end());
    EXPECT_EQ(record.given(command), row.given);
  }
  EXPECT_EQ(record.given({"nvcc", "-arch=sm_90"}, {}, {"--compute-capability", "8.0", "build"}),
            sm_90 + added_80);
  EXPECT_EQ(record.given({"nvcc", "-arch=sm_80"}, {}, {"--compute-capability", "7.5", "build"}),
            "-gencode arch=compute_80,code=[sm_80,compute_80] " + kAdded);
}

// A command's own failure is what one sees, once.
TEST(PtxexecBuild, PtxIsForWhatACommandNamesWhereItsCodeNeedsThat) {
  PTX2SPV_NEEDS_PRELOADS;
  const Recorders record;
  const std::string needs_90 =
      "#!/bin/sh\ncase \"$*\" in *_89*) echo no; echo no >&2; exit 1;; esac\n"
      "echo tried >&2; printf '%s ' \"$@\"; exit $EXIT\n";
  for (const char* name : {"nvcc", "clang++"}) record.folder().write(name, needs_90);
  const std::string gencode = "-gencode arch=compute_90a,code=", ptx = gencode + "compute_90a ",
                    both = gencode + "[sm_90a,compute_90a] ";
  const struct {
    Words command;
    std::string given;
  } kRows[] = {
      {{"nvcc", "-gencode", "arch=compute_90a,code=sm_90a", "a.cu"},
       gencode + "sm_90a a.cu " + ptx},
      {{"nvcc", "-arch=sm_90a", "a.cu"}, "a.cu " + both},
      {{"nvcc", "-dlto", "-arch=sm_90a", "a.cu"}, "a.cu " + both},
      {{"clang++", "--offload-arch=sm_90a", "a.cu"},
       "--cuda-gpu-arch=sm_90a --cuda-include-ptx=sm_90a --offload-arch=sm_90a a.cu "},
  };
  for (const auto& row : kRows)
    for (const int code : {0, 3}) {
      Words command = {tool_path("ptxexec"), "build"};
      command.insert(command.end(), row.command.begin(), row.command.end());
      const ProcessResult result = run_process(
          command, {},
          {"PATH=" + record.folder().path() + ":/usr/bin:/bin", "EXIT=" + std::to_string(code)});
      EXPECT_EQ(result.exit_code, code);
      EXPECT_EQ(result.out, row.given);
      EXPECT_TRUE(result.error.ends_with("libcudart_static.a\ntried\n")) << result.error;
    }
  // Standard input is read once.
  const ProcessResult result =
      run_process({tool_path("ptxexec"), "build", "nvcc", "-arch=sm_90a", "-x", "cu", "-"}, {},
                  {"PATH=" + record.folder().path() + ":/usr/bin:/bin"});
  EXPECT_EQ(result.out, "no\n");
}

TEST(PtxexecBuild, NvccsVariablesCount) {
  PTX2SPV_NEEDS_PRELOADS;
  const Recorders record;
  EXPECT_EQ(record.given({"nvcc", "a.cu"}, {"NVCC_APPEND_FLAGS=-arch=sm_90"}),
            "a.cu -gencode arch=compute_90,code=[sm_90,compute_90] " + kAdded89);
  EXPECT_EQ(record.given({"nvcc", "a.cu", "-arch=sm_90"}, {"NVCC_PREPEND_FLAGS=-O1"}),
            "a.cu -gencode arch=compute_90,code=[sm_90,compute_90] " + kAdded89 + "-O1 ");
  EXPECT_EQ(record.given({"nvcc", "a.cu"}, {"NVCC_PREPEND_FLAGS=-G"}), "a.cu -G ");
}

TEST(PtxexecBuild, LinkersGetTheSharedRuntime) {
  PTX2SPV_NEEDS_PRELOADS;
  const Recorders record;
  const TemporaryFolder toolkit;
  const std::string archive = toolkit.write("libcudart_static.a", "");
  const std::string shared = "--push-state -Bdynamic -lcudart --pop-state ";
  EXPECT_EQ(record.given({"ld", "a.o", "-lcudart_static", "-lrt"}), "a.o " + shared + "-lrt ");
  EXPECT_EQ(record.given({"x86_64-linux-gnu-ld.bfd", "-l:libcudart_static.a"}), shared);
  EXPECT_EQ(record.given({"ld.lld-15", "-lcudart_static"}), shared);
  EXPECT_EQ(record.given({"ld", archive}), shared);
  const std::string library = toolkit.write("libcudart.so", "");
  EXPECT_EQ(record.given({"ld", archive, "a.o"}), library + " a.o ");
  const std::string file = toolkit.write("words", "b.o -lcudart_static");
  EXPECT_EQ(record.given({"ld", "@" + file}), "b.o " + shared);
  EXPECT_EQ(record.given({"ld", "-static", "-lcudart_static"}), "-static -lcudart_static ");
  EXPECT_EQ(record.given({"ld", "a.o", "-lm"}), "a.o -lm ");
  const std::string cuda = std::filesystem::canonical(kLibraries).string() + "/libcuda.so.1 ";
  EXPECT_EQ(record.given({"ld", "a.o", "-L" + toolkit.path(), "-lcuda"}),
            "a.o -L" + toolkit.path() + " " + cuda);
  toolkit.write("libcuda.so", "");
  for (const Words& option : {Words{"-L" + toolkit.path()}, Words{"-L", toolkit.path()}}) {
    Words command = {"ld", "-lcuda"};
    command.insert(command.end(), option.begin(), option.end());
    EXPECT_EQ(record.given(command),
              "-lcuda " + option[0] + " " + (option.size() > 1 ? option[1] + " " : ""));
  }
  EXPECT_EQ(record.given({"g++", "-lcudart_static"}),
            "-lcudart_static ");  // its linker comes later
}

TEST(PtxexecBuild, ClangGetsPtx) {
  PTX2SPV_NEEDS_PRELOADS;
  const Recorders record;
  const std::string added = "--cuda-gpu-arch=sm_75 --cuda-include-ptx=sm_75 ";
  EXPECT_EQ(record.given({"clang++", "--offload-arch=sm_90", "a.cu"}),
            "--cuda-gpu-arch=sm_89 --cuda-include-ptx=sm_89 --offload-arch=sm_90 a.cu ");
  EXPECT_EQ(record.given({"clang++", "--no-cuda-include-ptx=sm_75", "a.cu"}), added + "a.cu ");
  EXPECT_EQ(record.given({"clang++", "--offload-arch=sm_90,sm_86", "a.cu"}),
            "--cuda-gpu-arch=sm_86 --cuda-include-ptx=sm_86 --offload-arch=sm_90,sm_86 a.cu ");
  EXPECT_EQ(record.given({"clang++", "-x", "cuda", "a.cpp"}), added + "-x cuda a.cpp ");
  EXPECT_EQ(record.given({"x86_64-linux-gnu-clang-15", "a.cu"}), added + "a.cu ");
  for (const char* each : {"clang-format", "clang-format-15"})
    EXPECT_EQ(record.given({each, "a.cu"}), "a.cu ");
  for (const char* each : {"-E a.cu", "--cuda-device-only a.cu", "a.cpp -lcudart"})
    EXPECT_EQ(record.given({"sh", "-c", std::string("clang++ ") + each}), each + std::string(" "));
}

// However a build starts a compiler: each of these is another function of the C library, or leaves
// the variables out.
TEST(PtxexecBuild, EveryWayOfStartingACompilerIsSeen) {
  PTX2SPV_NEEDS_PRELOADS;
  const Recorders record;
  const std::string nvcc = record.folder().path() + "/nvcc";
  const std::string expected = "-gencode arch=compute_90,code=[sm_90,compute_90] " + kAdded89;
  const std::string make = record.folder().write("Makefile", "all:\n\t@" + nvcc + " -arch=sm_90\n");
  EXPECT_EQ(record.given({nvcc, "-arch=sm_90"}), expected);
  EXPECT_EQ(record.given({"sh", "-c", nvcc + " -arch=sm_90; true"}), expected);
  if (has_program("make"))
    EXPECT_EQ(record.given({"make", "-f", make}), expected);
  else
    std::printf("make is not installed: how it starts compilers is not tried\n");
  EXPECT_EQ(record.given({"env", "nvcc", "-arch=sm_90"}), expected);
  EXPECT_EQ(record.given({"env", "-i", nvcc, "-arch=sm_90"}), expected);
  if (has_program("cmake", {"PATH=/usr/local/bin:/usr/bin:/bin"}))
    EXPECT_EQ(record.given({"cmake", "-E", "env", "A=B", nvcc, "-arch=sm_90"}), expected);
  else
    std::printf("cmake is not installed: how it starts compilers is not tried\n");
  EXPECT_EQ(record.given({tool_path("ptxexec"), "build", "nvcc", "-arch=sm_90"}), expected);
  if (run_process({"/usr/bin/env", "python3", "-c", ""}).exit_code) {
    std::printf("python3 is not installed: how it starts compilers is not tried\n");
    return;
  }
  for (const std::string call :
       {"subprocess.run(c)", "subprocess.run(c, env={})", "os.execv(c[0], c)",
        "os.execvpe('nvcc', c, os.environ)", "os.waitpid(os.posix_spawn(c[0], c, os.environ), 0)",
        "os.waitpid(os.posix_spawnp('nvcc', c, os.environ), 0)", "os.system(' '.join(c))",
        "os.execl(c[0], *c)", "os.execlp('nvcc', *c)"})
    EXPECT_EQ(record.given({"python3", "-c",
                            "import os, subprocess; c = ['" + nvcc + "', '-arch=sm_90']; " + call}),
              expected)
        << call;
  // One folder of PATH after another, as shells do; and a compiler that is nowhere.
  EXPECT_EQ(record.given({"python3", "-c",
                          "import os\n"
                          "for folder in ('/nowhere', '/usr', '" +
                              record.folder().path() +
                              "'):\n"
                              "  try: os.execv(folder + '/nvcc', ['nvcc', '-arch=sm_90'])\n"
                              "  except FileNotFoundError: pass"}),
            expected);
  EXPECT_EQ(record.given({"python3", "-c",
                          "import os\n"
                          "try: os.execlp('ld.nowhere', 'ld.nowhere', '-lcudart_static')\n"
                          "except FileNotFoundError: print('absent', end='')"}),
            "absent");
  // A list of arguments that ends at once; what is behind it is none of them.
  EXPECT_EQ(record.given({"python3", "-c",
                          "import ctypes\n"
                          "ctypes.CDLL(None).execl(b'/bin/true', None, *[8] * 8)\n"
                          "print('failed', end='')"}),
            "");
}

// As execvp() has it: no PATH, a folder of it that is the current one, a script without #!.
TEST(PtxexecBuild, FindsProgramsAsTheCLibraryDoes) {
  PTX2SPV_NEEDS_PRELOADS;
  const TemporaryFolder folder;
  const std::string script = folder.write("script", "echo \"$0 $1\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const std::string tool = std::filesystem::canonical(tool_path("ptxexec")).string();
  const auto said = [&](const Words& command) {
    const ProcessResult result = run_process(command);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.out;
  };
  EXPECT_EQ(said({tool, "build", script, "x"}), script + " x\n");
  EXPECT_EQ(said({"/usr/bin/env", "-C", folder.path(), "PATH=/nowhere:", tool, "build", "script"}),
            "./script \n");
  EXPECT_EQ(said({"/usr/bin/env", "-u", "PATH", tool, "build", "echo", "x"}), "x\n");
  EXPECT_EQ(said({"/usr/bin/env", "-u", "PATH", tool, "echo", "x"}), "x\n");
}

TEST(PtxexecBuild, RefusesAPathThatCannotBePreloaded) {
  PTX2SPV_NEEDS_PRELOADS;
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  for (const std::string name : {"with blank", "with:colon"}) {
    const std::string place = folder.file(name);
    for (const char* each : {"/tools", "/cuda"}) fs::create_directories(place + each);
    fs::copy_file(fs::canonical(tool_path("ptxexec")), place + "/tools/ptxexec");
    for (const char* each : {"/libcuda.so.1", "/libptx2spv-cuda-build.so"})
      fs::create_symlink(kLibraries + each, place + "/cuda" + each);
    const ProcessResult result = run_process({place + "/tools/ptxexec", "build", "true"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.error.find("colon: " + place + "/cuda"), std::string::npos) << result.error;
  }
}

TEST(Ptxexec, PutsItsFoldersFirst) {
  for (const std::string& before : Words{"-old", "-old:" + kLibraries, ":/x", ""}) {
    const ProcessResult result =
        run_process({tool_path("ptxexec"), "/bin/sh", "-c", "echo $LD_LIBRARY_PATH"}, {},
                    {"LD_LIBRARY_PATH=" + kLibraries + before});
    EXPECT_TRUE((result.out.substr(0, result.out.size() - 1) + ":").starts_with(kLibraries + ":"))
        << result.out;
  }
}

TEST(PtxexecBuild, SaysOnceWhatItChanges) {
  PTX2SPV_NEEDS_PRELOADS;
  const Recorders record;
  const Words environment = {"PATH=" + record.folder().path() + ":/usr/bin:/bin"};
  const std::string twice = "nvcc -arch=sm_90; nvcc -arch=sm_100";
  const ProcessResult result =
      run_process({tool_path("ptxexec"), "build", "sh", "-c", twice}, {}, environment);
  const auto first = result.error.find("compilers add PTX for compute capability 7.5");
  EXPECT_NE(first, std::string::npos) << result.error;
  EXPECT_EQ(result.error.find("compilers add", first + 1), std::string::npos) << result.error;
  for (const Words& order : {Words{"--dry-run", "build"}, Words{"build", "--dry-run"}}) {
    Words command = {tool_path("ptxexec"), order[0], order[1], "sh", "-c", twice};
    const ProcessResult dry = run_process(command, {}, environment);
    EXPECT_EQ(dry.out, "-arch=sm_90 -arch=sm_100 ");
    for (const char* number : {"90", "100"})
      EXPECT_NE(dry.error.find("/nvcc -gencode arch=compute_" + std::string(number) + ",code=[sm_" +
                               number + ",compute_" + number + "] " +
                               kAdded89.substr(0, kAdded89.size() - 1) + "\n"),
                std::string::npos)
          << dry.error;
  }
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--dry-run", "true"}).exit_code, 2);
  EXPECT_EQ(run_process({tool_path("ptxexec"), "build"}).exit_code, 2);
  EXPECT_EQ(run_process({tool_path("ptxexec"), "build", "/nowhere/make"}).exit_code, 127);
}

#define PTX2SPV_NEEDS_NVCC \
  PTX2SPV_NEEDS_PRELOADS;  \
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed"

void expect_runs(const Words& command, const std::string& output) {
  const ProcessResult result = execute(command);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  EXPECT_NE(result.out.find(output), std::string::npos) << result.out << result.error;
}

// What a command names is what its code is written for.
TEST(PtxexecBuild, CodeForNewerCapabilitiesIsNotCompiledForOlderOnes) {
  PTX2SPV_NEEDS_NVCC;
  const TemporaryFolder folder;
  const std::string source = folder.write("arch.cu",
                                          "#include <cstdio>\n"
                                          "__global__ void store(int* p) {\n"
                                          "#ifdef __CUDA_ARCH__\n"
                                          "  *p = __CUDA_ARCH__;\n"
                                          "#endif\n"
                                          "}\n"
                                          "int main() {\n"
                                          "  int *p, value = 0;\n"
                                          "  cudaMalloc(&p, 4);\n"
                                          "  store<<<1, 1>>>(p);\n"
                                          "  cudaMemcpy(&value, p, 4, cudaMemcpyDefault);\n"
                                          "  std::printf(\"%d\\n\", value);\n"
                                          "}\n");
  const std::string made = folder.file("arch");
  for (const auto& [option, value] : {std::pair{"-arch=sm_86", "860"},
                                      {"-gencode=arch=compute_90,code=sm_90", "890"},
                                      {"-gencode=arch=compute_80,code=sm_86", "800"},
                                      {"-arch=sm_75", "750"}}) {
    expect_runs({"build", nvcc(), option, source, "-o", made}, "");
    expect_runs({made}, std::string(value) + "\n");
  }
}

TEST(PtxexecBuild, AProjectOfCMake) {
  PTX2SPV_NEEDS_NVCC;
  if (!has_program("cmake")) GTEST_SKIP() << "cmake is not installed";
  const TemporaryFolder folder;
  const std::string compiler = "-DCMAKE_CUDA_COMPILER=" + nvcc();
  expect_runs({"build", "cmake", "-S", kProjects, "-B", folder.path(), compiler}, "written to");
  expect_runs({"build", "cmake", "--build", folder.path()}, "separate");
  expect_runs({"ctest", "--test-dir", folder.path()}, "100% tests passed");
}

TEST(PtxexecBuild, AProjectOfCMakeWithTheToolchainFile) {
  PTX2SPV_NEEDS_NVCC;
  const TemporaryFolder folder;
  const std::string toolchain =
      std::string(PTX2SPV_SOURCE_DIR) + "/cmake/ptx2spv_cuda_toolchain.cmake";
  const std::string bin = folder.file("with blank");
  std::filesystem::create_directory(bin);
  std::filesystem::create_symlink(std::filesystem::canonical(tool_path("ptxexec")),
                                  bin + "/ptxexec");
  const Words environment = {"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin"};
  if (!has_program("cmake", environment)) GTEST_SKIP() << "the system's folders have no cmake";
  const auto run = [&](const Words& arguments) {
    Words command = {"/usr/bin/env", "cmake"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProcessResult result = run_process(command, {}, environment);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  };
  run({"-S", kProjects, "-B", folder.path(), "-DCMAKE_CUDA_COMPILER=" + nvcc(),
       "-DCMAKE_TOOLCHAIN_FILE=" + toolchain});
  run({"--build", folder.path()});
  expect_runs({"ctest", "--test-dir", folder.path()}, "100% tests passed");
}

TEST(PtxexecBuild, AMakefileWithThePathOfNvcc) {
  PTX2SPV_NEEDS_NVCC;
  const TemporaryFolder folder;
  const std::string bin = std::filesystem::canonical(nvcc()).parent_path().string();
  expect_runs({"build", "make", "-C", folder.path(), "-f", kProjects + "/Makefile",
               "SOURCES=" + kProjects, "CUDA=" + bin.substr(0, bin.rfind('/'))},
              "cudaSuccess 624\n");
}

TEST(PtxexecBuild, APythonExtension) {
  PTX2SPV_NEEDS_NVCC;
  const TemporaryFolder folder;
  expect_runs({"build", "python3", kProjects + "/setup.py", nvcc(), folder.path()},
              "cudaSuccess 624\n");
}

TEST(Ptxexec, NamesAProgramWithNvidiasRuntimeBeforeItStarts) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  const std::string source = kProjects + "/host.cc", says = "ptxexec build make";
  for (const char* runtime : {"static", "shared"}) {
    std::string made;
    ASSERT_TRUE(compile(std::string("host-") + runtime + toolkit(),
                        {nvcc(), "-cudart", runtime, "-Xlinker", "-s", source}, {source}, made));
    const ProcessResult result = execute({made});
    const bool names = result.error.starts_with("ptxexec: " + made + " has NVIDIA's runtime") &&
                       result.error.find(says) != std::string::npos;
    EXPECT_EQ(names, runtime == std::string("static")) << result.error;
  }
  EXPECT_EQ(execute({"sh", "-c", "echo x"}).error, "");
}

}  // namespace
}  // namespace ptx2spv::test
