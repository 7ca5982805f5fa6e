//! Registers an image for the host's own processor with libomptarget, and embeds a cubin by its name.

use fatbin::OffloadKind;
use fatbin::embed::{EmbeddedFiles, RegisteredImages};

fn main() {
    RegisteredImages::new(OffloadKind::OpenMp)
        .image("../../fixtures/answer-x86_64.so")
        .kernel("answer_kernel", "answer_region")
        .compile("kernels");
    EmbeddedFiles::new().file("answer", "../../fixtures/answer-sm_90.cubin").compile("modules");

    // The constructor in the first library calls the runtime. Debian has no libomptarget.so without a version, so a variable
    // states its path.
    println!("cargo::rerun-if-env-changed=LIBOMPTARGET");
    let library = std::env::var("LIBOMPTARGET").unwrap_or("-lomptarget".to_owned());
    println!("cargo::rustc-link-arg={library}");
}
