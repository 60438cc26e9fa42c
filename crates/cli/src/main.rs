//! The `trefoil` program: three workloads on a CPU or an NVIDIA GPU behind one boundary.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod conformance;
mod demo;
mod doctor;
mod exit;
mod isolate;
mod output;
mod private;
mod report;
mod trials;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Trials(args) => trials::run(&args),
        Command::Pfss(args) => private::run(&args.command),
    };
    let code = exit::code(result);
    if runtime::abandoned() {
        // Work hangs on the device, and the driver would wait for it as this process ends.
        let _gone = io::stdout().flush();
        runtime::exit_at_once(code);
    }
    ExitCode::from(code)
}
