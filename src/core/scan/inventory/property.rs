//! Properties of SYCL images.

/// Properties of one category, such as `SYCL/device globals`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertySet {
    /// Name of the category.
    pub name: String,
    /// Properties in the order of the file.
    pub properties: Vec<Property>,
}

/// A property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// Name of a kernel, of a variable, or of the property itself.
    pub name: String,
    /// Value.
    pub value: PropertyValue,
}

/// Value of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyValue {
    /// A number.
    Number(u32),
    /// Bytes of this size, in the format of the category.
    Bytes(u64),
}
