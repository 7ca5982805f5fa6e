//! Kernels as a library: the programs that depend on it contain the images that its build script links.

mod omptarget;

/// Files that the build script embeds, as functions.
pub mod modules {
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}

/// Identifies the kernel `answer_kernel`: the build script names this symbol, and libomptarget knows its address.
#[unsafe(no_mangle)]
static answer_region: u8 = 0;

/// Runs the kernel of the registered image, and returns the number that it writes.
pub fn answer() -> Result<i32, String> {
    let mut answer = 0;
    // SAFETY: the kernel has one parameter, a pointer to a number of 32 bits.
    unsafe { omptarget::launch(&raw const answer_region, &mut answer) }?;
    Ok(answer)
}
