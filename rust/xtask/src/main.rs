//! Developer and user commands; this file only names them.

mod bench;
mod demo;
mod docs;
mod fuzz;
mod gradients;
mod programs;
mod sanitize;
mod session;
mod test;
mod wheel;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{Given, plugin, project, setup};

/// CladTorch: set-up, build, tests and demonstration.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    given: Given,
}

#[derive(Subcommand)]
enum Command {
    /// Fetch what the machine lacks into .deps
    Setup {
        /// Also NVIDIA's run-time compiler (90 MB), which makes machine code of the kernels for GPUs
        #[arg(long)]
        cuda: bool,
    },
    /// Set up and build the plugin into build/lib
    Build,
    /// Set up, build and run every check and test
    Test(test::Options),
    /// Set up, build and train the gravitational-wave and the Higgs classifier in ROOT
    Demo,
    /// Set up, build and install the plugin and the cladtorch command
    Install {
        /// Folder that gets bin, lib, include and share
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
    },
    /// Set up, build and pack a wheel for pip, and its debug symbols in a file of their own
    Wheel {
        /// Folder that gets both
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Pack what the build folder holds
        #[arg(long)]
        no_build: bool,
    },
    /// Make the web site of the documentation with Doxygen
    Docs {
        /// Folder that gets index.html and its pages
        #[arg(long, value_name = "DIR", default_value_os_t = project::build().join("docs"))]
        out: PathBuf,
    },
    /// Start root.exe with the plugin within reach
    Root(session::Arguments),
    /// Start Python with ROOT and the plugin within reach
    Python(session::Arguments),
    /// Time CladTorch and its peers side by side
    #[command(disable_help_flag = true)]
    Bench(session::Arguments),
    /// Feed damaged bytes to the readers, under AddressSanitizer
    Fuzz(fuzz::Options),
    /// Run tests under AddressSanitizer and, for the kernels, UndefinedBehaviorSanitizer
    Sanitize(sanitize::Options),
    /// Derive the kernels again with Clad
    Gradients {
        /// Compare with what is checked in, write nothing
        #[arg(long)]
        check: bool,
    },
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    match &cli.command {
        Command::Setup { cuda } => setup::with_extras(&cli.given, *cuda),
        Command::Build => plugin::build(&setup::run(&cli.given)?),
        Command::Test(options) => test::run(&cli.given, options),
        Command::Demo => demo::run(&cli.given),
        Command::Install { prefix } => plugin::install(&setup::run(&cli.given)?, prefix),
        Command::Wheel { out, no_build } => wheel::run(&cli.given, out, !no_build),
        Command::Docs { out } => docs::run(out),
        Command::Root(arguments) => session::root(&cli.given, arguments),
        Command::Python(arguments) => session::python(&cli.given, arguments),
        Command::Bench(options) => bench::run(&cli.given, options),
        Command::Fuzz(options) => fuzz::run(&cli.given, options),
        Command::Sanitize(options) => sanitize::run(&cli.given, options),
        Command::Gradients { check } => gradients::run(&project::root(), *check),
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
