// Every row of the instruction table is executed by a test whose truth is an H200's record or
// worked out apart from the translator. The rows are those of the texts that the tests run by
// themselves, which they leave here in functions. A row that is refused by name is held to that.
// What is left stands in untested_rows.txt, each row with its reason; a new row without a test
// fails here.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "dev/programs/matrices.hpp"
#include "dev/programs/program.hpp"
#include "dev/replay/kernel.hpp"
#include "ptx2spv/translator.hpp"
#include "tests/instructions/derived.hpp"
#include "tests/instructions/handles.hpp"
#include "tests/instructions/record.hpp"
#include "tests/programs/record.hpp"
#include "tests/support/process.hpp"
#include "tests/texture/instruction.hpp"
#include "tests/vectors/forms.hpp"
#include "translator/ptx/instruction_table.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv::tests {
namespace {

const std::string kTests = PTX2SPV_SOURCE_DIR "/tests/";

/// Whether the manual gives an error bound instead of a value: records leave those results out.
bool approximate(const ptx::Instruction& inst) {
  using enum ptx::Opcode;
  switch (inst.op) {
    case rsqrt:
    case sin:
    case cos:
    case lg2:
    case ex2:
    case tanh: return true;
    case rcp:
    case sqrt:
    case div:
      return is_float(inst.mods->type()) &&
             (inst.mods->rounding == ptx::Mod::none || inst.mods->rounding == ptx::Mod::approx ||
              inst.mods->rounding == ptx::Mod::full);
    default: return false;
  }
}

/// The instruction's row. Scalar video instructions that write a part of their destination have one
/// of their own with the same modifiers, which the parser does not tell apart.
std::uint16_t row_of(const ptx::Function& function, const ptx::Instruction& inst) {
  const auto args = function.args(inst);
  if (args.empty() || !ptx::form_info(inst.form).any_operands || !args[0].selectors)
    return inst.form;
  const ptx::FormRange range = ptx::forms_of(inst.op);
  for (std::uint16_t row = range.first; row < range.last; ++row)
    if (ptx::form_info(row).syntax.find(" d.dsel") != std::string_view::npos) return row;
  return inst.form;
}

/// Rows of the instruction table, each with the first test that executes it.
class Rows {
 public:
  /// `bounded`: the test holds approximations against their bounds. `kernel`: of the entries of the
  /// module only this one is run.
  void add(const std::string& by, const std::string& text, bool bounded = false,
           const std::string& kernel = {}) {
    DiagnosticSink sink(100);
    const auto module = ptx::parse_module(text, by, {}, sink);
    for (const Diagnostic& each : sink.diagnostics())
      ASSERT_NE(each.severity, Severity::error) << render(each, module->source);
    for (const ptx::Function& function : module->functions) {
      if (function.is_entry && !kernel.empty() && function.name != kernel) continue;
      for (const ptx::Instruction& each : function.instructions)
        if (bounded || !approximate(each)) rows_.emplace(row_of(function, each), by);
    }
  }
  const std::string* test_of(std::uint16_t row) const {
    const auto found = rows_.find(row);
    return found == rows_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::uint16_t, std::string> rows_;
};

void add_programs(Rows& rows) {
  const auto vocabulary = program_vocabulary();
  const auto deviations = program_deviations();
  for (const ProgramLine& line : recorded_programs()) {
    if (!program_runs_by_itself(line.number) || deviations.contains(line.number)) continue;
    const std::string text = programs::make_program(vocabulary, line.number).text;
    if (!refused_form(text)) rows.add("tests/programs", text);
  }
}

void add_instruction_record(Rows& rows) {
  const auto recorded = recorded_instructions();
  const auto deviations = instruction_deviations();
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const recorder::Instruction& row = recorded[i].row;
    if (replayed_by_itself(i) && !row.approximate && !deviations.contains(row.text))
      rows.add("tests/instructions (record)", recorder::module_text(row));
  }
}

/// The lines that name what follows them, of a record.
void read_heads(const std::string& path, const std::function<void(const std::string&)>& each) {
  gzFile file = gzopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr) << path;
  char buffer[4096];
  while (gzgets(file, buffer, sizeof(buffer))) {
    std::string line(buffer);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.starts_with("T ") || line.starts_with("I ")) each(line);
  }
  gzclose(file);
}

void add_surface_records(Rows& rows) {
  tools::Records records;
  const auto files = {"suld", "sust", "sustp", "sustp_layered", "sured", "shapes", "traps"};
  records.texts.reserve(files.size());
  for (const char* name : files)
    ASSERT_EQ(tools::read_record(kTests + "data/hardware/" + name + ".txt.gz", records), "");
  for (std::uint32_t k = 0; k < records.kernels.size(); ++k)
    if (records.instructions[records.kernels[k][0]].op != tools::RecordOp::other)
      rows.add("tests/replay", tools::replay_ptx(records, k, tools::HandleSource::param));
}

void add_texture_records(Rows& rows) {
  std::set<std::string> instructions;
  for (const std::string& path : record_files()) {
    bool taken = false;
    read_heads(path, [&](const std::string& line) {
      if (line[0] == 'T')
        taken = replayed(parse_setup(line.substr(2)));
      else if (taken)
        instructions.insert(line.substr(2));
    });
  }
  for (const std::string& text : instructions)
    rows.add("tests/texture_device", recorder::texture_module(instruction_of(text)));
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The kernels that the manifests of a folder launch and hold against an output.
void add_manifests(Rows& rows, const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(kTests + folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto manifest = nlohmann::json::parse(file_text(entry.path()));
    ASSERT_TRUE(manifest.contains("outputs")) << entry.path();
    const std::string text = file_text(kTests + folder + "/" + std::string(manifest["module"]));
    for (const auto& launch : manifest["launches"])
      rows.add("tests/" + folder, text, false, launch["kernel"]);
  }
}

std::vector<std::string> vector_modules() {
  std::vector<std::string> texts;
  for (const auto& forms : {elementwise_forms(), packing_forms(), special_forms(), memory_forms(),
                            operand_forms(), call_forms()})
    texts.push_back(kernel_text(forms, 0, forms.size(), Sync::warps));
  return texts;
}

void add_derived(Rows& rows) {
  for (const Derived& row : derived_rows())
    rows.add("tests/instructions (derived)", words_module(row.kernel), true);
  for (const std::string& text : handle_modules()) rows.add("tests/instructions (handles)", text);
  for (const std::string& text : vector_modules()) rows.add("tests/vectors", text);
  rows.add("tests/calls", file_text(kTests + "calls/calls.ptx"));
}

void add_matrices(Rows& rows) {
  for (const programs::MatrixForm& form : programs::matrix_forms())
    rows.add("tests/matrices", programs::matrix_module(form));
}

/// Instructions that ptxas takes and the translator refuses (docs/user/limits.md), one of each row.
constexpr const char* kRefused[] = {
    "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;",
    "cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;",
    "cvt.rn.f16x2.e2m3x2 %r1, %h1;",
    "cvt.rn.bf16x2.ue8m0x2 %r1, %h1;",
    "cvt.rz.satfinite.ue8m0x2.f32 %h1, %f1, %f2;",
    "cvt.rz.ue8m0x2.bf16x2 %h1, %r1;",
    "atom.global.exch.b128 %q1, [%d1], %q2;",
    "atom.global.cas.b128 %q1, [%d1], %q2, %q3;",
};

std::string refused_text(const char* instruction) {
  return ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n"
         ".reg .b16 %h<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %d<4>; "
         ".reg .b128 %q<4>;\n" +
         std::string(instruction) + "\nret;\n}\n";
}

TEST(RefusedInstructions, AreRefusedByName) {
  for (const char* instruction : kRefused) {
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{refused_text(instruction), "refused.ptx"}}, messages);
    if (module) {
      TranslateOptions options;
      options.entry = "k";
      EXPECT_FALSE(module->translate(options, messages)) << instruction;
    }
    std::string text;
    for (const Message& message : messages) text += message.rendered + "\n";
    EXPECT_TRUE(text.starts_with("refused.ptx:7:1: error: '")) << instruction << text;
    EXPECT_NE(text.find("' is not supported"), std::string::npos) << instruction << text;
  }
}

std::string name_of(std::uint16_t row) {
  const ptx::FormInfo& form = ptx::form_info(row);
  return std::string(form.syntax) + " | " + std::string(form.slots_text);
}

/// Row, a tab, and the reason why no test executes it.
std::map<std::string, std::string> excuses() {
  std::map<std::string, std::string> reasons;
  std::ifstream file(kTests + "coverage/untested_rows.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t tab = line.find('\t');
    EXPECT_TRUE(tab < line.size() - 1) << "no reason: " << line;
    if (tab < line.size()) reasons[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return reasons;
}

TEST(InstructionTable, EveryRowIsExecutedAgainstTruthThatIsNotOurs) {
  Rows rows;
  for (auto add : {add_programs, add_instruction_record, add_surface_records, add_texture_records,
                   add_derived, add_matrices})
    add(rows);
  for (const char* folder : {"kernels", "texture_kernels"}) add_manifests(rows, folder);
  ASSERT_FALSE(HasFailure());
  Rows refused;
  for (const char* instruction : kRefused) refused.add("refused", refused_text(instruction));

  auto reasons = excuses();
  std::map<std::string, unsigned> counts;
  for (std::uint16_t row = 0; row < ptx::all_forms().size(); ++row) {
    if (ptx::form_info(row).refused) continue;
    const std::string name = name_of(row);
    const std::string* test = rows.test_of(row);
    if (!test) test = refused.test_of(row);
    ++counts[test ? *test : "none"];
    if (std::getenv("PTX2SPV_COVERAGE"))
      std::printf("%s\t%s\n", name.c_str(), test ? test->c_str() : "none");
    const bool excused = reasons.contains(name);
    if (test)
      EXPECT_FALSE(excused) << *test << " executes this row, it leaves untested_rows.txt: " << name;
    else
      EXPECT_TRUE(excused) << "no test executes this row: " << name;
    reasons.erase(name);
  }
  for (const auto& [name, reason] : reasons)
    ADD_FAILURE() << "untested_rows.txt has a row that the table has not: " << name;
  for (const auto& [test, count] : counts)
    std::printf("%4u rows, first by %s\n", count, test.c_str());
}

/// An assembler of NVIDIA's, or nothing.
std::string ptxas() {
  const char* cuda = std::getenv("CUDA_HOME");
  const std::string path = std::string(cuda ? cuda : "/usr/local/cuda") + "/bin/ptxas";
  return std::filesystem::exists(path) ? path : "";
}

// What is worked out here is worth nothing where no CUDA would run it.
TEST(WorkedOutTexts, AreTakenByPtxas) {
  if (ptxas().empty()) GTEST_SKIP() << "there is no ptxas in $CUDA_HOME/bin, /usr/local/cuda/bin";
  std::map<std::string, std::string> texts;
  for (const Derived& row : derived_rows()) texts[row.name] = words_module(row.kernel);
  unsigned number = 0;
  for (const std::string& text : handle_modules())
    texts["handles_" + std::to_string(number++)] = text;
  for (const std::string& text : vector_modules())
    texts["vectors_" + std::to_string(number++)] = text;
  const test::TemporaryFolder folder;
  unsigned taken = 0;
  for (const auto& [name, text] : texts) {
    const std::size_t at = text.find(".target ") + 8;
    const std::string target = text.substr(at, text.find_first_of(",\n", at) - at);
    const auto result =
        test::run_process({ptxas(), "-c", "-arch=" + target, "-o", folder.file(name + ".cubin"),
                           folder.write(name + ".ptx", text)});
    if (result.error.find("is not defined for option 'gpu-name'") != std::string::npos) {
      std::printf("%s: this ptxas knows no %s\n", name.c_str(), target.c_str());
      continue;
    }
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.error << text;
    ++taken;
  }
  EXPECT_GT(taken, 20u);
}

}  // namespace
}  // namespace ptx2spv::tests
