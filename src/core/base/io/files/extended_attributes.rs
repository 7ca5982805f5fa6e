//! Extended attributes of a file: capabilities, access control lists, labels, and user attributes. Only Linux's are
//! copied.

use std::fs::File;
use std::io;
use std::path::Path;

/// An attribute that a file could not get.
#[derive(Debug)]
pub struct LostAttribute {
    /// Name of the attribute.
    pub name: String,
    /// Reason.
    pub cause: io::Error,
}

/// Names and values.
#[derive(Debug, Clone, Default)]
pub struct ExtendedAttributes(
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "none are read"))] Vec<(Vec<u8>, Vec<u8>)>,
);

/// Attributes that vouch for the bytes of a file. With other bytes, they keep the system from opening it.
#[cfg(target_os = "linux")]
const SIGNATURES: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Maximum size of a list of names, and of a value, in bytes (xattr(7)).
#[cfg(target_os = "linux")]
const MAX_SIZE: usize = 64 << 10;

#[cfg(target_os = "linux")]
impl ExtendedAttributes {
    /// Reads the attributes of the file that a path leads to; none if the file system has no attributes.
    pub fn of(path: &Path) -> Self {
        let mut names = vec![0; MAX_SIZE];
        let size = rustix::fs::listxattr(path, &mut names).unwrap_or(0);
        let mut attributes = Vec::new();
        for name in names.get(..size).unwrap_or_default().split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            attributes.extend(value(path, name).map(|value| (name.to_owned(), value)));
        }
        ExtendedAttributes(attributes)
    }

    /// Gives a file the attributes, and returns those that it could not get.
    pub fn copy_to(&self, file: &File) -> Vec<LostAttribute> {
        let mut lost = Vec::new();
        for (name, value) in &self.0 {
            let set = if SIGNATURES.contains(&name.as_slice()) {
                Err(io::Error::other("it vouches for the bytes before the change"))
            } else {
                set(file, name, value)
            };
            lost.extend(
                set.err().map(|cause| LostAttribute { name: String::from_utf8_lossy(name).into_owned(), cause }),
            );
        }
        lost
    }
}

/// Returns the value of an attribute of the file that a path leads to.
#[cfg(target_os = "linux")]
pub fn extended_attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    value(path, name.as_bytes())
}

#[cfg(target_os = "linux")]
fn value(path: &Path, name: &[u8]) -> Option<Vec<u8>> {
    let mut value = vec![0; MAX_SIZE];
    let size = rustix::fs::getxattr(path, name, &mut value).ok()?;
    value.truncate(size);
    Some(value)
}

/// Reads nothing.
#[cfg(not(target_os = "linux"))]
pub fn extended_attribute(_path: &Path, _name: &str) -> Option<Vec<u8>> {
    None
}

/// Sets an attribute, unless the file has it: every file of a directory may have the same label, and setting it may
/// be forbidden.
#[cfg(target_os = "linux")]
fn set(file: &File, name: &[u8], value: &[u8]) -> io::Result<()> {
    let mut present = vec![0; MAX_SIZE];
    let size = rustix::fs::fgetxattr(file, name, &mut present);
    if size.is_ok_and(|size| present.get(..size) == Some(value)) {
        return Ok(());
    }
    Ok(rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty())?)
}

#[cfg(not(target_os = "linux"))]
impl ExtendedAttributes {
    /// Reads nothing.
    pub fn of(_path: &Path) -> Self {
        ExtendedAttributes::default()
    }

    /// Sets nothing.
    pub fn copy_to(&self, _file: &File) -> Vec<LostAttribute> {
        Vec::new()
    }
}
