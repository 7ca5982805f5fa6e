//! NVIDIA architectures and how a cubin's ELF header and a PTX file state them.
//!
//! NVIDIA documents neither; the rules were read from more than ten thousand real cubins. The suffix `a` of older cubins
//! is in the flags too; that of newer ones stands only in the fat binary around them.

/// The architecture in a cubin's header: `abi_version` is `EI_ABIVERSION`. `None` for a version not seen before.
pub fn arch_of_e_flags(abi_version: u8, e_flags: u32) -> Option<String> {
    match abi_version {
        ..=7 => {
            let suffix = if e_flags & 0x800 != 0 { "a" } else { "" };
            Some(format!("sm_{}{suffix}", e_flags & 0xff))
        }
        8 => Some(format!("sm_{}", e_flags >> 8 & 0xff)),
        _ => None,
    }
}

/// The architecture that a PTX text is written for: the first operand of its `.target` directive, which the PTX
/// specification wants right after `.version`; comments may stand before it. `None` where `text` is not PTX.
pub fn arch_of_ptx(text: &[u8]) -> Option<&str> {
    // Enough for a generated header with a licence above it, and little enough to look at in any file.
    let text = &text[..text.len().min(16 << 10)];
    let mut version_seen = false;
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        version_seen |= line.starts_with(b".version");
        if let (true, Some(operands)) = (version_seen, line.strip_prefix(b".target")) {
            let first = operands.trim_ascii().split(|byte| b", \t/".contains(byte)).next()?;
            return std::str::from_utf8(first).ok().filter(|arch| arch.starts_with("sm_"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_flags_of_real_cubins_give_their_architecture() {
        let read = [
            (7, 0x50_0550, "sm_80"),
            (7, 0x5a_055a, "sm_90"),
            (7, 0x5a_0d5a, "sm_90a"),
            (8, 0x600_4b04, "sm_75"),
            (8, 0x600_6402, "sm_100"),
            (8, 0x600_7802, "sm_120"),
        ];
        for (abi_version, e_flags, arch) in read {
            assert_eq!(arch_of_e_flags(abi_version, e_flags).as_deref(), Some(arch));
        }
        assert_eq!(arch_of_e_flags(9, 0), None);
    }

    #[test]
    fn ptx_states_its_architecture_after_comments_and_version() {
        let text = b"//\n// Generated\n//\n\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n";
        assert_eq!(arch_of_ptx(text), Some("sm_90a"));
        assert_eq!(arch_of_ptx(b".target sm_80\n"), None, "no .version before it");
        assert_eq!(arch_of_ptx(b"int main(void) { return 0; }\n"), None);
        assert_eq!(arch_of_ptx(b".version 8.0\r\n.target sm_80\r\n"), Some("sm_80"));
    }
}
