//! A program as kernels and the order in which they run.

use crate::error::Result;
use crate::graph::Program;
use crate::graph::outputs::Outputs;

/// Where the memory lies that a kernel's parameter points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In the arena of values, so many numbers from its start.
    Values(usize),
    /// In the arena of adjoints.
    Adjoints(usize),
    /// The argument of that number.
    Input(usize),
    /// The output of that number: dense.
    Output(usize),
    /// The adjoint of that output: dense.
    Seed(usize),
    /// The gradient by the argument of that number: dense.
    Gradient(usize),
    /// The int32 of that number among those that say whether an index was out of range.
    Flag(usize),
}

/// One kernel on a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its name: that of one of [`CudaProgram::kernels`].
    pub kernel: String,
    /// Blocks.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Its parameters, all pointers.
    pub slots: Vec<Slot>,
}

/// A kernel of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// With C linkage.
    pub name: String,
    /// Types of its parameters.
    pub parameters: Vec<String>,
    /// Whether threads of a block wait for one another.
    pub has_barriers: bool,
}

/// The pullback of a step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The outputs that depend on it.
    pub dependents: Outputs,
    /// What runs where one of these has an adjoint.
    pub launches: Vec<Launch>,
    /// What runs else: adjoints that begin here are 0.
    pub unreached: Vec<Launch>,
}

/// A program for a GPU. Everything runs in the order of its lists, each launch after the one before it.
#[derive(Clone, Debug)]
pub struct CudaProgram {
    /// CUDA C++: one namespace, which includes `device.hpp` and `generated/derivatives.hpp` of [`headers`].
    pub text: String,
    /// The kernels in it.
    pub kernels: Vec<Kernel>,
    /// Computes the values of all nodes and writes the outputs.
    pub forward: Vec<Launch>,
    /// Begins the adjoints that no pullback begins.
    pub zero: Vec<Launch>,
    /// For each of the user's outputs what adds its adjoint, if one is given.
    pub seeds: Vec<Vec<Launch>>,
    /// Pullbacks, those of the last steps first.
    pub backward: Vec<Step>,
    /// Where in the arena of values fixed numbers stand.
    pub literals: Vec<(usize, Vec<f64>)>,
    /// Numbers in the arena of values.
    pub values: usize,
    /// Numbers in the arena of adjoints.
    pub adjoints: usize,
    /// For each flag the observed operator that sets it, in a forward pass that meets an index out of range.
    pub flags: Vec<usize>,
}

impl CudaProgram {
    /// With all names of the text beginning with `name`, an identifier. What has no text is refused by name.
    pub fn new(program: &Program, name: &str) -> Result<Self> {
        super::steps::write(program, name)
    }
}

/// Names and texts of the headers that the text includes.
pub fn headers() -> [(&'static str, &'static str); 6] {
    macro_rules! kernels {
        ($name:literal) => {
            include_str!(concat!("../../../../cpp/kernels/", $name))
        };
    }
    [
        ("exponential.hpp", kernels!("exponential.hpp")),
        ("activations.hpp", kernels!("activations.hpp")),
        ("operators.hpp", kernels!("operators.hpp")),
        ("pushforwards.hpp", kernels!("pushforwards.hpp")),
        ("generated/derivatives.hpp", kernels!("generated/derivatives.hpp")),
        ("device.hpp", include_str!("device.hpp")),
    ]
}
