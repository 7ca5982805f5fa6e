//! Shaders: SPIR-V that the Vulkan driver of any device compiles.

use super::runtimes::DEFAULT;
use super::{Candidate, Preference, Runtime};
use fatbin_core::format::ContainerType;
use fatbin_core::target::Device;
use fatbin_core::target::runs_on::CodeForm;

/// A program passes modules to Vulkan, which compiles them. Source: Khronos, Vulkan Specification,
/// `VkShaderModuleCreateInfo`.
const VULKAN: Runtime = Runtime {
    kind: None,
    name: "Vulkan",
    release: "Vulkan 1.0 to 1.4",
    order: "the module that the program loads",
    preference: Preference::Best,
    accepted_forms: &[CodeForm::SpirV],
    ..DEFAULT
};

impl Candidate<'_> {
    /// Returns the runtime that usually loads the image.
    pub(super) fn runtime(&self, container: ContainerType) -> &'static Runtime {
        if self.is_shader() { &VULKAN } else { Runtime::of_image(container, self.image) }
    }

    /// Returns whether the image is a shader for Vulkan, and so for every platform.
    fn is_shader(&self) -> bool {
        self.code_of_header().is_shader()
    }

    /// Returns whether the image is for the platform of a device.
    pub fn is_for(&self, device: &Device) -> bool {
        if self.is_shader() { device.may_have_vulkan() } else { self.platform() == Some(device.platform()) }
    }
}
