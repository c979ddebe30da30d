#include "src/module/code_store.hpp"

#include "src/cache/digest.hpp"
#include "src/cache/disk_cache.hpp"
namespace ptx2spv::runtime {

namespace {

class CodeOnDisk : public CodeStore {
 public:
  explicit CodeOnDisk(std::shared_ptr<DiskCache> disk) : disk_(std::move(disk)) {}

  std::optional<std::vector<std::byte>> load(const std::string& content) override {
    return disk_->load(key_of(content));
  }
  void store(const std::string& content, const std::vector<std::byte>& code) override {
    disk_->store(key_of(content), code);
  }
  std::shared_ptr<void> turn(const std::string& content, void (*waiting)()) override {
    return disk_->turn(key_of(content), waiting);
  }

 private:
  static std::string key_of(const std::string& content) {
    Digest digest;
    digest.add(build_id());
    digest.add(content);
    return "h-" + digest.text();
  }

  const std::shared_ptr<DiskCache> disk_;
};

}  // namespace

std::shared_ptr<CodeStore> code_store(std::shared_ptr<DiskCache> disk) {
  return disk ? std::make_shared<CodeOnDisk>(std::move(disk)) : nullptr;
}

}  // namespace ptx2spv::runtime
