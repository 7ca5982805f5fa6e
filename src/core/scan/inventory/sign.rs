//! Signs of device code in a file without device images.

/// A sign. High entropy is not one, because compressed data of any kind has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign {
    /// Kind.
    pub kind: SignKind,
    /// Name of the section, function or processor, or of the format with the magic.
    pub name: &'static str,
    /// Size of the section in bytes.
    pub size: Option<u64>,
}

/// Kind of a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignKind {
    /// A section that tools use for device code, and whose contents are not zeros.
    Section,
    /// First bytes of a file of a vendor.
    Magic,
    /// A function that registers, loads, compiles or launches device code, and that the file calls. The code may be in
    /// another file.
    Call,
    /// Measurements of kernels for a processor, without their code: MIOpen's `.db.txt` and `.fdb.txt`.
    Records,
}

impl SignKind {
    /// Name in `fatbin scan --json`.
    pub fn name(self) -> &'static str {
        match self {
            SignKind::Section => "section",
            SignKind::Magic => "magic",
            SignKind::Call => "call",
            SignKind::Records => "records",
        }
    }
}
