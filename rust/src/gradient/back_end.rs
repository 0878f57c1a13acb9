//! The choice of the back end that runs a network or a function, and its reason, for fits, predictions and compiled
//! functions.

use tch::Device;

use crate::error::{Error, Result};
use crate::graph::Gradient;

/// The back end that runs a graph, with its derivatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackEnd {
    /// Kernels with Clad's derivatives, compiled into the library.
    Aot,
    /// One function, emitted, differentiated by Clad and compiled for this graph.
    Jit,
    /// Kernels for a GPU with Clad's derivatives, compiled for this graph by NVRTC.
    Cuda,
    /// LibTorch's operators and autograd.
    Autograd,
}

impl BackEnd {
    /// As users know it.
    pub fn name(self) -> &'static str {
        match self {
            BackEnd::Aot => "aot",
            BackEnd::Jit => "jit",
            BackEnd::Cuda => "cuda",
            BackEnd::Autograd => "autograd",
        }
    }

    /// With what makes the derivatives, for people.
    pub fn title(self) -> &'static str {
        match self {
            BackEnd::Aot => "aot (derivatives by Clad)",
            BackEnd::Jit => "jit (derivatives by Clad)",
            BackEnd::Cuda => "cuda (derivatives by Clad)",
            BackEnd::Autograd => "autograd (LibTorch)",
        }
    }
}

/// The back end that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which one.
    pub back_end: BackEnd,
    /// Why it is not the back end that was requested first; `None` if it is.
    pub instead: Option<String>,
}

impl Choice {
    /// The choice for a network: kernels if it has them, unless LibTorch's autograd is requested. `obstacle`: why it
    /// has none.
    pub fn for_network(gradient: Gradient, device: Device, obstacle: Option<&str>) -> Self {
        let (back_end, instead) = match (gradient, device, obstacle) {
            (Gradient::Clad, Device::Cpu, None) => (BackEnd::Aot, None),
            (Gradient::Clad, Device::Cuda(_), None) => (BackEnd::Cuda, None),
            (Gradient::Clad, Device::Cpu | Device::Cuda(_), Some(obstacle)) => (BackEnd::Autograd, Some(obstacle)),
            (Gradient::Clad, _, _) => (BackEnd::Autograd, Some("Clad's kernels run on CPUs and NVIDIA GPUs")),
            (Gradient::Autograd, _, _) => (BackEnd::Autograd, None),
        };
        Choice { back_end, instead: instead.map(str::to_owned) }
    }

    /// LibTorch, as this one turned out to be impossible.
    pub fn replaced(why: &Error) -> Self {
        // Its remedy is what happens.
        let why = if let Error::Invalid { what, .. } = why { what.clone() } else { why.to_string() };
        Choice { back_end: BackEnd::Autograd, instead: Some(why) }
    }

    /// A fit's description of `engine`, which runs.
    pub fn describe(&self, engine: &str) -> String {
        match &self.instead {
            Some(reason) => format!("{engine}; {reason}"),
            None => engine.to_owned(),
        }
    }
}

/// The back end that a user wants for a compiled function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Aot, which needs no compiler, or LibTorch; on a GPU cuda or LibTorch.
    Any,
    /// Aot; an error where it lacks an operator, and on a GPU.
    Aot,
    /// Jit; an error where it cannot be made, and on a GPU.
    Jit,
    /// LibTorch.
    Autograd,
    /// Jit where it can be made, else as `Any`; on a GPU as `Any`.
    Fastest,
}

impl Wanted {
    /// The back ends that may run the function on this device: the first one that can does.
    fn ladder(self, device: Device) -> &'static [BackEnd] {
        match (self, device) {
            (Wanted::Aot, _) => &[BackEnd::Aot],
            (Wanted::Jit, _) => &[BackEnd::Jit],
            (Wanted::Autograd, _) => &[BackEnd::Autograd],
            (Wanted::Any, Device::Cpu) => &[BackEnd::Aot, BackEnd::Autograd],
            (Wanted::Fastest, Device::Cpu) => &[BackEnd::Jit, BackEnd::Aot, BackEnd::Autograd],
            (Wanted::Any | Wanted::Fastest, _) => &[BackEnd::Cuda, BackEnd::Autograd],
        }
    }

    /// Whether the function must be observed, for kernels to run it.
    pub fn tries_kernels(self) -> bool {
        self != Wanted::Autograd
    }

    /// What `make` makes with the first back end that can on this device. LibTorch is the caller's: before it the search ends,
    /// with the last error.
    pub fn choose<R>(self, device: Device, mut make: impl FnMut(BackEnd) -> Result<R>) -> Result<(R, Choice)> {
        let mut obstacle = None;
        for &back_end in self.ladder(device).iter().filter(|&&back_end| back_end != BackEnd::Autograd) {
            if device != Device::Cpu && back_end != BackEnd::Cuda {
                let what = format!("back end {} runs on the CPU, and the tensors are on a GPU", back_end.name());
                return Err(Error::invalid(what, "move them with to(torch::kCPU)"));
            }
            match make(back_end) {
                Ok(made) => {
                    let instead = obstacle.map(|error: Error| error.to_string());
                    return Ok((made, Choice { back_end, instead }));
                }
                Err(error) => obstacle = Some(error),
            }
        }
        Err(obstacle.unwrap_or_else(|| Error::Internal("kernels for a function that LibTorch is to run".to_owned())))
    }

    /// Why LibTorch, and not kernels, runs a function, given the `obstacle`; an error if kernels were requested.
    pub fn why_libtorch(self, obstacle: &str) -> Result<String> {
        match self {
            Wanted::Autograd => Ok("the options ask for it".to_owned()),
            Wanted::Any | Wanted::Fastest => Ok(obstacle.to_owned()),
            Wanted::Aot | Wanted::Jit => {
                Err(Error::invalid(obstacle, "kAnyBackEnd, the default, runs such functions too"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_and_demand_has_its_back_end() {
        let (clad, autograd) = (Gradient::Clad, Gradient::Autograd);
        let (gpu, missing) = (Device::Cuda(0), Some("an operator has no kernel"));
        for (device, gradient, obstacle, back_end, instead) in [
            (Device::Cpu, clad, None, BackEnd::Aot, None),
            (Device::Cpu, clad, missing, BackEnd::Autograd, missing),
            (Device::Cpu, autograd, None, BackEnd::Autograd, None),
            (Device::Cpu, autograd, missing, BackEnd::Autograd, None),
            (gpu, clad, None, BackEnd::Cuda, None),
            (gpu, clad, missing, BackEnd::Autograd, missing),
            (Device::Cuda(3), autograd, None, BackEnd::Autograd, None),
        ] {
            let choice = Choice::for_network(gradient, device, obstacle);
            assert_eq!(choice, Choice { back_end, instead: instead.map(str::to_owned) }, "{gradient:?} on {device:?}");
        }
    }

    #[test]
    fn the_reason_is_said_with_the_back_end() {
        let said = |gradient| Choice::for_network(gradient, Device::Cpu, Some("no kernel")).describe("autograd");
        assert_eq!(said(Gradient::Clad), "autograd; no kernel");
        assert_eq!(said(Gradient::Autograd), "autograd");
        let replaced = Choice::replaced(&Error::invalid("no NVRTC", "install it"));
        assert_eq!(replaced.describe("autograd"), "autograd; no NVRTC");
    }

    /// Where only `those` can be made: what was tried on the device, and what came of it.
    fn chosen_on(device: Device, wanted: Wanted, those: &[BackEnd]) -> (Vec<BackEnd>, Result<Choice, String>) {
        let mut tried = Vec::new();
        let made = wanted.choose(device, |back_end| {
            tried.push(back_end);
            let failed = Error::invalid(back_end.name(), "no");
            if those.contains(&back_end) { Ok(()) } else { Err(failed) }
        });
        (tried, made.map(|((), choice)| choice).map_err(|error| error.to_string()))
    }

    fn chosen(wanted: Wanted, those: &[BackEnd]) -> (Vec<BackEnd>, Result<Choice, String>) {
        chosen_on(Device::Cpu, wanted, those)
    }

    #[test]
    fn the_first_back_end_of_the_ladder_that_can_runs_a_function() {
        let (aot, jit) = (BackEnd::Aot, BackEnd::Jit);
        let choice = |back_end, instead: Option<&str>| Ok(Choice { back_end, instead: instead.map(str::to_owned) });
        let failed = |what: &str| Err(what.to_owned());
        assert_eq!(chosen(Wanted::Any, &[aot, jit]), (vec![aot], choice(aot, None)));
        assert_eq!(chosen(Wanted::Any, &[jit]), (vec![aot], failed("aot; no")));
        assert_eq!(chosen(Wanted::Aot, &[jit]), (vec![aot], failed("aot; no")));
        assert_eq!(chosen(Wanted::Jit, &[aot]), (vec![jit], failed("jit; no")));
        assert_eq!(chosen(Wanted::Fastest, &[aot, jit]), (vec![jit], choice(jit, None)));
        assert_eq!(chosen(Wanted::Fastest, &[aot]), (vec![jit, aot], choice(aot, Some("jit; no"))));
        assert_eq!(chosen(Wanted::Fastest, &[]), (vec![jit, aot], failed("aot; no")));
        assert_eq!(chosen(Wanted::Autograd, &[aot, jit]).0, []);
    }

    #[test]
    fn on_a_gpu_only_cuda_and_libtorch_run_a_function() {
        let (cuda, gpu) = (BackEnd::Cuda, Device::Cuda(1));
        let all = [BackEnd::Aot, BackEnd::Jit, cuda];
        for wanted in [Wanted::Any, Wanted::Fastest] {
            assert_eq!(chosen_on(gpu, wanted, &all), (vec![cuda], Ok(Choice { back_end: cuda, instead: None })));
            assert_eq!(chosen_on(gpu, wanted, &all[..2]), (vec![cuda], Err("cuda; no".to_owned())));
        }
        for (wanted, name) in [(Wanted::Aot, "aot"), (Wanted::Jit, "jit")] {
            let (tried, made) = chosen_on(gpu, wanted, &all);
            assert!(tried.is_empty());
            let start = format!("back end {name} runs on the CPU, and the tensors are on a GPU; ");
            assert!(made.unwrap_err().starts_with(&start));
        }
        assert_eq!(chosen_on(gpu, Wanted::Autograd, &all).0, []);
    }

    #[test]
    fn libtorch_runs_what_kernels_cannot_unless_they_were_asked_for() {
        for wanted in [Wanted::Any, Wanted::Fastest] {
            assert_eq!(wanted.why_libtorch("no kernel").unwrap(), "no kernel");
        }
        assert_eq!(Wanted::Autograd.why_libtorch("").unwrap(), "the options ask for it");
        for wanted in [Wanted::Aot, Wanted::Jit] {
            let error = wanted.why_libtorch("no kernel").unwrap_err().to_string();
            assert_eq!(error, "no kernel; kAnyBackEnd, the default, runs such functions too");
        }
        let tried =
            [Wanted::Any, Wanted::Aot, Wanted::Jit, Wanted::Autograd, Wanted::Fastest].map(Wanted::tries_kernels);
        assert_eq!(tried, [true, true, true, false, true]);
    }
}
