//! Kernels one by one: their parameters, their grids, and one text for those that are the same.

use std::collections::HashMap;

use super::super::buffer_assignment::{BufferAssignment, Location};
use super::multiply::{MatrixProduct, Numbers};
use super::program::{Kernel, Launch, Run, Slot, Waits};
use crate::cache::Cache;
use crate::graph::program::{Origin, Tensor};
use crate::graph::{DType, Program};

/// Threads of a block whose threads work alone.
const THREADS: usize = 256;
/// Most blocks of a grid: beyond, each has several parts of the work.
const MOST_BLOCKS: usize = 1 << 14;
/// Terms of a sum from which on a block shares them.
const SHARED: usize = 64;
/// Most threads that share a sum: as many as `Block` in device.hpp has room for.
const MOST_SHARING: usize = 512;

/// Who does a kernel's work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    /// So many elements or rows, a thread for each.
    Alone(usize),
    /// This many rows of this many elements, a block for each row.
    Block(usize, usize),
    /// So many tiles of products.
    Tiles(usize),
}

impl Work {
    /// A grid for this many rows of this many elements.
    pub fn of_rows(rows: usize, columns: usize) -> Self {
        if columns < SHARED { Work::Alone(rows) } else { Work::Block(rows, columns) }
    }

    /// The class of `device.hpp`.
    pub fn team(self) -> &'static str {
        if matches!(self, Work::Alone(_)) { "Alone" } else { "Block" }
    }

    /// Blocks, and threads of each.
    pub fn grid(self) -> [u32; 2] {
        let [blocks, threads] = match self {
            Work::Alone(count) => [count.div_ceil(THREADS), THREADS],
            Work::Block(rows, columns) => {
                // A few elements for each thread before the tree.
                [rows, (columns / 4).next_power_of_two().clamp(32, MOST_SHARING)]
            }
            Work::Tiles(tiles) => [tiles, THREADS],
        };
        [blocks.clamp(1, MOST_BLOCKS), threads].map(|size| size as u32)
    }
}

/// A kernel while it is written.
#[derive(Default)]
pub(super) struct Draft {
    parameters: Vec<(String, Slot)>,
    pub body: String,
    /// See [`Kernel::before`].
    pub before: String,
}

impl Draft {
    /// The parameter that points to a slot of numbers of this type.
    fn pointer(&mut self, of: &str, slot: Slot) -> String {
        let at = self.parameters.iter().position(|(_, known)| *known == slot).unwrap_or_else(|| {
            self.parameters.push((of.to_owned(), slot));
            self.parameters.len() - 1
        });
        format!("p{at}")
    }

    /// To read the program's numbers.
    pub fn read(&mut self, slot: Slot) -> String {
        self.pointer("const T *", slot)
    }

    /// To write them.
    pub fn write(&mut self, slot: Slot) -> String {
        self.pointer("T *", slot)
    }

    /// To read or write other numbers.
    pub fn other(&mut self, of: &str, slot: Slot) -> String {
        self.pointer(of, slot)
    }
}

/// What is known of a kernel beside its body, which tells it from others.
struct Known {
    number: usize,
    has_barriers: bool,
    before: String,
}

/// The kernels of a program.
pub(super) struct Writer<'a> {
    pub program: &'a Program,
    pub layout: &'a BufferAssignment,
    /// Where adjoints lie.
    pub adjoints: Vec<Option<Location>>,
    /// Start of the memory for pullbacks, after all adjoints, and the most that one of them takes.
    pub scratch: usize,
    pub most_scratch: usize,
    pub flags: Vec<usize>,
    /// How the device's library takes factors in float32.
    pub floats: Numbers,
    /// Whether it multiplies these.
    pub multiplies: &'a dyn Fn(&MatrixProduct) -> bool,
    /// Types and body of each kernel, with the rest of it.
    known: HashMap<(Vec<String>, String), Known>,
    /// The greatest number that an index may be.
    largest: usize,
}

impl<'a> Writer<'a> {
    pub fn new(
        program: &'a Program,
        layout: &'a BufferAssignment,
        floats: Numbers,
        multiplies: &'a dyn Fn(&MatrixProduct) -> bool,
    ) -> Self {
        let largest = program.buffers.iter().map(|buffer| buffer.length).max().unwrap_or(0);
        Writer {
            program,
            layout,
            adjoints: Vec::new(),
            scratch: 0,
            most_scratch: 0,
            flags: Vec::new(),
            floats,
            multiplies,
            known: HashMap::new(),
            largest,
        }
    }

    /// An index may be as large as this.
    pub fn counts_to(&mut self, number: usize) {
        self.largest = self.largest.max(number);
    }

    /// All kernels, in the order of their numbers.
    pub fn kernels(self) -> Vec<Kernel> {
        // 32 bits where they do, with room for a last stride of a whole grid.
        let index = if self.largest < 1 << 31 { "uint32_t" } else { "uint64_t" };
        let types = [if self.program.dtype == DType::Float32 { "float" } else { "double" }, index];
        let mut known: Vec<_> = self.known.into_iter().collect();
        known.sort_unstable_by_key(|(_, known)| known.number);
        let kernel = |((parameters, body), Known { has_barriers, before, .. }): ((Vec<String>, String), Known)| {
            let list: Vec<String> =
                parameters.iter().enumerate().map(|(at, of)| format!("{of}__restrict__ p{at}")).collect();
            let list = list.join(", ");
            let name = format!("ct_{}", &Cache::key(&[types[0], types[1], &list, &body])[..32]);
            let text = format!("extern \"C\" __global__ void {name}({list})\n{{\n{body}}}\n");
            let waits = if has_barriers { Waits::ForBlock } else { Waits::Never };
            Kernel { name, types, text, before, parameters, waits, shared: 0, cluster: 1 }
        };
        known.into_iter().map(kernel).collect()
    }

    /// Finishes a kernel.
    pub fn launch(&mut self, draft: Draft, work: Work) -> Launch {
        let Draft { parameters, body, before } = draft;
        let (types, slots): (Vec<String>, Vec<Slot>) = parameters.into_iter().unzip();
        let (number, has_barriers) = (self.known.len(), !matches!(work, Work::Alone(_)));
        let kernel = self.known.entry((types, body)).or_insert(Known { number, has_barriers, before }).number;
        let [grid, block] = work.grid();
        Launch { run: Run::Kernel { kernel, grid, block }, slots }
    }

    /// Where a buffer's values lie.
    pub fn slot(&self, buffer: usize) -> Slot {
        match self.layout.values[buffer] {
            Location::Caller(index) => Slot::Input(index),
            Location::Arena(start) => Slot::Values(start),
        }
    }

    /// The values of an operand, as a parameter.
    pub fn operand(&self, draft: &mut Draft, operand: &Tensor) -> String {
        let slot = self.slot(operand.buffer);
        match self.program.buffers[operand.buffer].origin {
            Origin::Argument(index) => match self.program.arguments[index].dtype {
                dtype if dtype == self.program.dtype => draft.read(slot),
                DType::Float32 => draft.other("const float *", slot),
                DType::Float64 => draft.other("const double *", slot),
                DType::Int64 => draft.other("const int64_t *", slot),
                DType::Bool => draft.other("const uint8_t *", slot),
            },
            _ => draft.read(slot),
        }
    }

    /// The adjoint of a buffer that has one.
    pub fn adjoint(&self, buffer: usize) -> Option<Slot> {
        Some(match self.adjoints[buffer]? {
            Location::Caller(index) => Slot::Gradient(index),
            Location::Arena(start) => Slot::Adjoints(start),
        })
    }

    /// Memory for this many numbers, for the launches of one step.
    pub fn scratch(&mut self, numbers: usize) -> Slot {
        self.most_scratch = self.most_scratch.max(numbers);
        self.counts_to(numbers);
        Slot::Adjoints(self.scratch)
    }
}
