//! Options of the commands that scan files and report problems.

use clap::Args;

use super::inputs::InputArguments;
use super::limit::LimitArguments;
use super::problems::ProblemArguments;

#[derive(Args)]
pub struct ScanArguments {
    #[command(flatten)]
    pub problems: ProblemArguments,

    #[command(flatten)]
    pub limits: LimitArguments,

    #[command(flatten)]
    pub inputs: InputArguments,
}
