// A Vulkan device as any application has it. Nothing here knows of translated modules.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace binding {

struct Buffer {
  VkBuffer buffer = VK_NULL_HANDLE;  ///< the host's only one
  std::uint64_t offset = 0;          ///< in it
  std::uint64_t size = 0, address = 0;
  std::uint8_t* bytes = nullptr;  ///< mapped, coherent

  std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(bytes); }
};

struct Image {
  VkImage image = VK_NULL_HANDLE;
  VkImageView view = VK_NULL_HANDLE;
  VkExtent3D extent{};
  std::uint32_t layers = 1;
};

struct Binding {
  std::uint32_t number = 0;
  Buffer buffer;
  VkImageView view = VK_NULL_HANDLE;  ///< set: a storage image in layout GENERAL
};

struct Dispatch {
  std::vector<std::uint32_t> spirv;
  std::string entry;
  std::vector<std::vector<Binding>> sets;
  std::vector<std::uint32_t> push, specialisation;  ///< constant i of the latter has id i
  std::uint32_t groups[3] = {1, 1, 1};
};

class Host {
 public:
  /// The device that is called so, opened by the loader; null and why not.
  static std::unique_ptr<Host> open(const std::string& name, std::string& problem);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// A range of zeros.
  Buffer buffer(std::uint64_t bytes);
  /// Who takes ranges; when the last one leaves they are all free again.
  void enter() { ++users_; }
  void leave();
  /// All ranges in one.
  const Buffer& everything() const { return everything_; }
  Image image(VkImageViewType view, VkFormat format, VkExtent3D extent, std::uint32_t layers);
  void copy(const Image& image, const Buffer& buffer, bool to_image);
  void run(const Dispatch& dispatch);
  std::uint32_t complaints() const { return complaints_; }  ///< of the validation layer

 private:
  Host() = default;
  std::string start(const std::string& name);
  Buffer make_buffer(std::uint64_t bytes);
  std::uint32_t memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted) const;
  template <class Record>
  void submit(Record&& record);
  VkDescriptorSetLayout layout(const std::vector<Binding>& set) const;

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  bool by_extension_ = false;  ///< addresses are
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  Buffer everything_;
  std::uint64_t taken_ = 256;  ///< of everything_; what is at 0 belongs to nobody
  std::vector<VkImage> images_;
  std::vector<VkImageView> views_;
  std::vector<VkDeviceMemory> memory_;
  std::uint32_t family_ = 0, complaints_ = 0, users_ = 0;
};

}  // namespace binding
