// A Vulkan device as any application has it. Nothing here knows of translated modules.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace binding {

struct Buffer {
  VkBuffer buffer = VK_NULL_HANDLE;
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

  Buffer buffer(std::uint64_t bytes);
  Image image(VkImageViewType view, VkFormat format, VkExtent3D extent, std::uint32_t layers);
  void copy(const Image& image, const Buffer& buffer, bool to_image);
  void run(const Dispatch& dispatch);
  std::uint32_t complaints() const { return complaints_; }  ///< of the validation layer

 private:
  Host() = default;
  std::string start(const std::string& name);
  std::uint32_t memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted) const;
  template <class Record>
  void submit(Record&& record);
  VkDescriptorSetLayout layout(const std::vector<Binding>& set) const;

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkBuffer> buffers_;
  std::vector<VkImage> images_;
  std::vector<VkImageView> views_;
  std::vector<VkDeviceMemory> memory_;
  std::uint32_t family_ = 0, complaints_ = 0;
};

}  // namespace binding
