// What the options of the sanitizer and of time limits take, in every tool that has them.
#pragma once

#include <string>

namespace ptx2spv::tools {

/// Each is empty where the value will do, else what is wrong with it.
std::string checks_problem(const std::string& value);
std::string exit_code_problem(const std::string& value);
std::string seconds_problem(const std::string& value);

}  // namespace ptx2spv::tools
