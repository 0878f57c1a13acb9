//! A program as kernels and the order in which they run.

use std::collections::{BTreeMap, BTreeSet};

use super::super::jit::emit;
use super::multiply::MatrixProduct;
use crate::graph::outputs::Outputs;

/// Where the memory lies that a kernel's parameter points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In the arena of values, this many numbers from its start.
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

/// What runs at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What it is.
    pub run: Run,
    /// Its parameters, all pointers.
    pub slots: Vec<Slot>,
}

/// See [`Launch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// A kernel on a grid.
    Kernel {
        /// Index into [`CudaProgram::kernels`].
        kernel: usize,
        /// Blocks.
        grid: u32,
        /// Threads of a block.
        block: u32,
    },
    /// A product by the device's library. Its parameters are the buffers of its three matrices and of its bias (if it has none, any),
    /// and memory to set aside.
    Product(MatrixProduct),
}

/// For whom threads of a kernel wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// For no thread.
    #[default]
    Never,
    /// For the others of their block.
    ForBlock,
    /// For all threads of the grid, which must be on the device as a whole.
    ForGrid,
}

/// A kernel as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// With C linkage, made from all that the kernel is: two of the same name are the same.
    pub name: String,
    /// C++'s types of the program's numbers and of indices: `T` and `Index` in the text.
    pub types: [&'static str; 2],
    /// CUDA C++, for the namespace [`Kernel::space`].
    pub text: String,
    /// What stands before all namespaces, once however many kernels have it, and uses `own.hpp`; may be empty.
    pub before: String,
    /// Types of its parameters.
    pub parameters: Vec<String>,
    /// For whom its threads wait.
    pub waits: Waits,
    /// Bytes of shared memory of a block, besides those that the text declares.
    pub shared: usize,
    /// Blocks of a cluster, which share their memory; up to 1: each is alone.
    pub cluster: u32,
}

/// The pullback of a step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The outputs that depend on it.
    pub dependents: Outputs,
    /// Launches if one of these has an adjoint.
    pub launches: Vec<Launch>,
    /// Launches otherwise: adjoints that begin here are 0.
    pub unreached: Vec<Launch>,
}

/// A program for a GPU. Everything runs in the order of its lists, each launch after the one before it.
#[derive(Clone, Debug)]
pub struct CudaProgram {
    /// Each once.
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
    /// Why kernels run large products.
    pub obstacle: Option<String>,
}

impl CudaProgram {
    /// Whether computing values takes memory from the arena of adjoints.
    pub fn forward_has_scratch(&self) -> bool {
        self.forward.iter().flat_map(|launch| &launch.slots).any(|slot| matches!(slot, Slot::Adjoints(_)))
    }

    /// Products by the device's library.
    pub fn products(&self) -> impl Iterator<Item = &MatrixProduct> {
        let steps = self.backward.iter().flat_map(|step| &step.launches);
        self.forward.iter().chain(steps).filter_map(|launch| match &launch.run {
            Run::Product(product) => Some(product),
            Run::Kernel { .. } => None,
        })
    }
}

impl Kernel {
    /// The namespace of kernels with the same types.
    pub fn space(&self) -> String {
        self.types.join("_")
    }
}

/// Headers that kernels of programs include.
pub const INCLUDES: [&str; 2] = ["device.hpp", "generated/derivatives.hpp"];

/// CUDA C++ of the kernels of some programs, those that they share once. It includes `device.hpp` and
/// `generated/derivatives.hpp` of [`headers`].
pub fn text<'a>(programs: impl IntoIterator<Item = &'a CudaProgram>) -> String {
    kernels_text(&INCLUDES, programs.into_iter().flat_map(|program| &program.kernels))
}

/// The same of any kernels, which include these headers.
pub fn kernels_text<'a>(includes: &[&str], kernels: impl IntoIterator<Item = &'a Kernel>) -> String {
    let kernels: BTreeMap<&str, &Kernel> = kernels.into_iter().map(|kernel| (&*kernel.name, kernel)).collect();
    let mut text: String = includes.iter().map(|header| format!("#include \"{header}\"\n")).collect();
    let before: BTreeSet<&str> =
        kernels.values().map(|kernel| &*kernel.before).filter(|text| !text.is_empty()).collect();
    if !before.is_empty() {
        text.push_str("#include \"own.hpp\"\n");
    }
    text.push('\n');
    text.extend(before);
    for types in kernels.values().map(|kernel| kernel.types).collect::<BTreeSet<_>>() {
        let [scalar, index] = types;
        emit!(
            text,
            "namespace {} {{\nusing namespace ::CladTorch::Kernels;\nusing namespace ::CladTorch::Device;\nusing T = {scalar};\n\
             using Index = {index};\n",
            types.join("_")
        );
        for kernel in kernels.values().filter(|kernel| kernel.types == types) {
            emit!(text, "{}", kernel.text);
        }
        emit!(text, "}} // namespace {}", types.join("_"));
    }
    text
}

/// Names and texts of the headers that the text includes.
pub fn headers() -> [(&'static str, &'static str); 12] {
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
        ("losses.hpp", kernels!("losses.hpp")),
        ("device.hpp", include_str!("device.hpp")),
        ("own.hpp", include_str!("own.hpp")),
        ("machine.hpp", include_str!("training/machine.hpp")),
        ("step.hpp", include_str!("training/step.hpp")),
        ("epoch.hpp", include_str!("training/epoch.hpp")),
        ("tensor_cores.hpp", include_str!("training/tensor_cores.hpp")),
    ]
}
