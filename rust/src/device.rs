//! Devices of tensors, and explicit loading of CUDA.
//!
//! The linker drops `libtorch_cuda.so` because nothing refers to it, so it is opened here before the first use. Errors
//! name the part that is missing.

use std::ffi::{c_int, c_uint};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use cladtorch_base::memory::{
    Element, HostBuffer, ReadPointer, ReadTensors, WritePointer, WriteTensors, share_chunks,
};
pub use cladtorch_base::threads::{Team, move_to_processor, offer_team, processor, shared_pool, team, thread_pool};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use tch::Device;

use crate::error::{Error, Result};

/// The device that `name` means (`cpu`, `cuda`, `cuda:N`), whether this machine has it or not.
pub fn named(name: &str) -> Result<Device> {
    let unknown = || Error::invalid(format!("device \"{name}\" is unknown"), "use \"cpu\", \"cuda\" or \"cuda:N\"");
    Ok(match name {
        "cpu" => Device::Cpu,
        "cuda" => Device::Cuda(0),
        _ => {
            let index = name.strip_prefix("cuda:").and_then(|n| n.parse::<u8>().ok());
            Device::Cuda(usize::from(index.ok_or_else(unknown)?))
        }
    })
}

/// The device that `name` means, ready to be used.
pub fn open(name: &str) -> Result<Device> {
    let device = named(name)?;
    let Device::Cuda(index) = device else { return Ok(device) };
    let gpus = load_cuda().map_err(|missing| {
        Error::invalid(format!("device \"{name}\" cannot be used: {missing}"), "use \"cpu\", which works everywhere")
    })?;
    if index >= gpus as usize {
        return Err(Error::invalid(
            format!("device \"{name}\" cannot be used: this machine has {gpus} GPU(s), counted from 0"),
            "give a smaller number",
        ));
    }
    Ok(device)
}

/// Number of GPUs, once the driver and LibTorch's CUDA part are loaded; else which part is missing.
fn load_cuda() -> std::result::Result<u32, String> {
    static LOADED: OnceLock<std::result::Result<u32, String>> = OnceLock::new();
    LOADED
        .get_or_init(|| {
            let gpus = count_gpus()?;
            load_libtorch_cuda()?;
            Ok(gpus)
        })
        .clone()
}

/// Asks the driver itself (CUDA Driver API, `cuInit` and `cuDeviceGetCount`), which needs no other CUDA library.
fn count_gpus() -> std::result::Result<u32, String> {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: the driver's library has no initialiser that depends on us, and it stays loaded (leaked below).
    let driver = unsafe { Library::open(Some("libcuda.so.1"), RTLD_NOW | RTLD_GLOBAL) }
        .map_err(|_| "the NVIDIA driver is not installed (no libcuda.so.1)".to_owned())?;
    // SAFETY: both functions have these types in every version of the CUDA Driver API; `count` outlives the call.
    let outcome = unsafe {
        let init: Result<Symbol<Init>, _> = driver.get(b"cuInit\0");
        let count_of: Result<Symbol<Count>, _> = driver.get(b"cuDeviceGetCount\0");
        match (init, count_of) {
            (Ok(init), Ok(count_of)) => {
                let mut count = 0;
                let code = init(0);
                let code = if code == 0 { count_of(&mut count) } else { code };
                if code == 0 { Ok(count) } else { Err(code) }
            }
            _ => return Err("the NVIDIA driver's libcuda.so.1 lacks cuInit or cuDeviceGetCount".to_owned()),
        }
    };
    std::mem::forget(driver);
    match outcome {
        Ok(count) if count > 0 => Ok(count as u32),
        // 100 is CUDA_ERROR_NO_DEVICE.
        Ok(_) | Err(100) => Err("the driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)".to_owned()),
        Err(code) => Err(format!("the driver's cuInit failed with code {code}")),
    }
}

fn load_libtorch_cuda() -> std::result::Result<(), String> {
    let folder = libtorch_folder().ok_or("the folder of libtorch_cpu.so was not found in this process")?;
    let path = folder.join("libtorch_cuda.so");
    if !path.exists() {
        return Err(format!("there is no {} (a LibTorch for the CPU, or only its CPU part installed)", path.display()));
    }
    // SAFETY: it is the companion of the libtorch_cpu.so already running here, opened once and never closed.
    match unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(library) => {
            std::mem::forget(library);
            Ok(())
        }
        Err(error) => Err(missing_cuda_library(&error.to_string())),
    }
}

/// Which package to install, from the dynamic linker's "libX.so.N: cannot open shared object file".
fn missing_cuda_library(message: &str) -> String {
    const PACKAGES: &[(&str, &str)] = &[
        ("libcublas", "nvidia-cublas"),
        ("libcudnn", "nvidia-cudnn-cu13"),
        ("libcufft", "nvidia-cufft"),
        ("libcurand", "nvidia-curand"),
        ("libcusolver", "nvidia-cusolver"),
        ("libcusparseLt", "nvidia-cusparselt-cu13"),
        ("libcusparse", "nvidia-cusparse"),
        ("libnccl", "nvidia-nccl-cu13"),
        ("libnvshmem", "nvidia-nvshmem-cu13"),
        ("libnvJitLink", "nvidia-nvjitlink"),
        ("libnvrtc", "nvidia-cuda-nvrtc"),
        ("libcufile", "nvidia-cufile"),
        ("libcudart", "nvidia-cuda-runtime"),
        ("libcupti", "nvidia-cuda-cupti"),
    ];
    let package = PACKAGES.iter().find(|(library, _)| message.contains(library)).map(|(_, package)| package);
    match package {
        Some(package) => {
            format!("libtorch_cuda.so lacks a CUDA library, found in the Python package {package} ({message})")
        }
        None => format!("libtorch_cuda.so could not be loaded ({message})"),
    }
}

/// The folder that this process loaded libtorch_cpu.so from.
pub(crate) fn libtorch_folder() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("/libtorch_cpu.so"))?;
    Path::new(&line[line.find('/')?..]).parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_devices_are_named() {
        for name in ["", "gpu", "cuda:", "cuda:-1", "cuda:999", "CPU"] {
            let error = open(name).unwrap_err().to_string();
            assert!(error.contains(&format!("\"{name}\"")), "{error}");
        }
    }

    #[test]
    fn a_missing_cuda_wheel_is_named() {
        let text = missing_cuda_library("libcudnn.so.9: cannot open shared object file: No such file or directory");
        assert!(text.contains("nvidia-cudnn-cu13") && text.contains("libcudnn.so.9"), "{text}");
        let text = missing_cuda_library("libcusparseLt.so.0: cannot open shared object file");
        assert!(text.contains("nvidia-cusparselt-cu13"), "{text}");
    }

    #[test]
    fn libtorch_is_found_in_this_process() {
        let _loaded = tch::Tensor::zeros([1], (tch::Kind::Float, Device::Cpu));
        assert!(libtorch_folder().is_some_and(|folder| folder.join("libtorch_cpu.so").exists()));
    }
}
