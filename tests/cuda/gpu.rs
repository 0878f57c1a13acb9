//! Recorded programs on a GPU.

use cladtorch::device::{ReadPointer, WritePointer};
use cladtorch::gradient::cuda::{CudaFunction, CudaProgram, Gpu, GpuMemory};
use cladtorch::gradient::{Executable, Failure};
use cladtorch::graph::Program;
use support::graph::recorder::Recorder;
use tch::Tensor;

/// Outputs and gradients, in the order of [`Recorder::actual`]. `code` is the program's machine code.
pub fn results(
    gpu: &Gpu,
    code: &[u8],
    recorder: &Recorder,
    program: &Program,
    cuda: &CudaProgram,
) -> Result<Vec<Tensor>, Failure> {
    let graph = CudaFunction::of_code(program, cuda.clone(), gpu, code)?;
    let up = |tensor: &Tensor| -> cladtorch::Result<GpuMemory> {
        let bytes = bytes_of(tensor);
        let memory = gpu.memory(bytes.len())?;
        memory.upload(&bytes)?;
        Ok(memory)
    };
    // Including the memory between their elements.
    let inputs: Vec<GpuMemory> =
        recorder.inputs().iter().map(|input| up(&with_gaps(input))).collect::<Result<_, _>>()?;
    let seeds = recorder.seeds();
    let given: Vec<GpuMemory> = seeds.iter().map(up).collect::<Result<_, _>>()?;
    let fresh = |like: &Tensor| gpu.memory(like.numel() * like.kind().elt_size_in_bytes());
    let outputs: Vec<GpuMemory> = seeds.iter().map(fresh).collect::<Result<_, _>>()?;
    let wanted = |input: &Tensor| input.requires_grad().then(|| fresh(input)).transpose();
    let gradients: Vec<Option<GpuMemory>> = recorder.inputs().iter().map(wanted).collect::<Result<_, _>>()?;
    let read = |memory: &GpuMemory| ReadPointer::exposed(memory.address());
    let written = |memory: &GpuMemory| WritePointer::exposed(memory.address());
    let [of_inputs, of_seeds] = [&inputs, &given].map(|list| list.iter().map(read).collect::<Vec<_>>());
    let of_outputs: Vec<_> = outputs.iter().map(written).collect();
    let of_gradients: Vec<_> = gradients.iter().map(|x| x.as_ref().map_or(WritePointer::NULL, written)).collect();
    for _ in 0..2 {
        // Twice, the second time in the same arenas.
        // SAFETY: all of it is memory of this GPU, as large as the program's tensors, and used by nobody else.
        unsafe {
            let saved = graph.forward(0, &of_inputs, &of_outputs)?;
            graph.backward(0, &saved, &of_inputs, &of_seeds, &of_gradients)?;
        }
    }
    let down = |memory: &GpuMemory, like: &Tensor| -> cladtorch::Result<Tensor> {
        let mut bytes = vec![0; like.numel() * like.kind().elt_size_in_bytes()];
        memory.download(&mut bytes)?;
        Ok(Tensor::from_data_size(&bytes, &like.size(), like.kind()))
    };
    let mut results: Vec<Tensor> =
        outputs.iter().zip(&seeds).map(|(memory, like)| down(memory, like)).collect::<Result<_, _>>()?;
    for (memory, input) in gradients.iter().zip(recorder.inputs()) {
        results.extend(memory.as_ref().map(|memory| down(memory, input)).transpose()?);
    }
    Ok(results)
}

/// The memory that holds a tensor's elements, from the first to the last.
fn with_gaps(tensor: &Tensor) -> Tensor {
    let reach = |(&size, stride): (&i64, i64)| (size - 1) * stride;
    match tensor.numel() {
        0 => tensor.detach(),
        _ => {
            let length = tensor.size().iter().zip(tensor.stride()).map(reach).sum::<i64>() + 1;
            tensor.detach().as_strided([length], [1], None)
        }
    }
}

fn bytes_of(tensor: &Tensor) -> Vec<u8> {
    let tensor = tensor.detach().contiguous();
    let mut bytes = vec![0; tensor.numel() * tensor.kind().elt_size_in_bytes()];
    tensor.copy_data_u8(&mut bytes, tensor.numel());
    bytes
}
