//! The order in which the kernels of a program run, on any device.

use super::multiply::MatrixProduct;
use super::program::{CudaProgram, Kernel, Launch, Run, Slot};
use crate::error::Result;
use crate::graph::outputs::selected;

/// A device that runs kernels and products, each after the one before it.
pub trait Device {
    /// Runs a kernel on this grid of blocks and threads, with these addresses as parameters.
    fn launch(&self, kernel: &Kernel, grid: [u32; 2], parameters: &[usize]) -> Result<()>;
    /// Multiplies, with the addresses of [`Run::Product`] as parameters.
    fn multiply(&self, product: &MatrixProduct, parameters: &[usize]) -> Result<()>;
}

/// Addresses in the device's memory.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    /// Bytes of the program's numbers: 4 or 8.
    pub size: usize,
    /// The arena of values.
    pub values: usize,
    /// The arena of adjoints; unused in a forward pass.
    pub adjoints: usize,
    /// The flags.
    pub flags: usize,
    /// Addresses of the arguments.
    pub inputs: &'a [usize],
    /// Addresses of the outputs; unused in a reverse pass.
    pub outputs: &'a [usize],
    /// Addresses of the adjoints of the user's outputs, 0 for one that is zero; unused in a forward pass.
    pub seeds: &'a [usize],
    /// Addresses of the gradients by the arguments; unused in a forward pass.
    pub gradients: &'a [usize],
}

impl Memory<'_> {
    fn address(&self, slot: Slot) -> usize {
        match slot {
            Slot::Values(start) => self.values + start * self.size,
            Slot::Adjoints(start) => self.adjoints + start * self.size,
            Slot::Flag(index) => self.flags + index * size_of::<i32>(),
            Slot::Input(index) => self.inputs[index],
            Slot::Output(index) => self.outputs[index],
            Slot::Seed(index) => self.seeds[index],
            Slot::Gradient(index) => self.gradients[index],
        }
    }
}

impl CudaProgram {
    /// Computes values and outputs. The arena of values holds the literals already.
    pub fn run_forward(&self, device: &impl Device, memory: &Memory) -> Result<()> {
        self.run(device, memory, &self.forward)
    }

    /// Computes the gradients from the values of a forward pass.
    pub fn run_backward(&self, device: &impl Device, memory: &Memory) -> Result<()> {
        self.run(device, memory, &self.zero)?;
        let is_given = |&output: &usize| memory.seeds.get(output).is_some_and(|&address| address != 0);
        for output in (0..self.seeds.len()).filter(is_given) {
            self.run(device, memory, &self.seeds[output])?;
        }
        let given = selected((0..self.seeds.len()).map(|output| is_given(&output)));
        for step in &self.backward {
            // 0 times an infinite slope is no number: what no given adjoint reaches has none at all.
            let launches = if step.dependents & given != 0 { &step.launches } else { &step.unreached };
            self.run(device, memory, launches)?;
        }
        Ok(())
    }

    fn run(&self, device: &impl Device, memory: &Memory, launches: &[Launch]) -> Result<()> {
        launches.iter().try_for_each(|launch| {
            let parameters: Vec<usize> = launch.slots.iter().map(|&slot| memory.address(slot)).collect();
            match &launch.run {
                Run::Kernel { kernel, grid, block } => {
                    device.launch(&self.kernels[*kernel], [*grid, *block], &parameters)
                }
                Run::Product(product) => device.multiply(product, &parameters),
            }
        })
    }
}
