//! Prints the number that the device writes, and the size of the embedded image.

use build_script_example::{answer, modules};

fn main() -> Result<(), String> {
    println!("device wrote {}", answer()?);
    println!("embedded {} bytes", modules::answer().len());
    Ok(())
}
