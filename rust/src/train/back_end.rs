//! Which back end runs where, for each device and `fGradient`.

use tch::Device;

use super::{Options, checks};
use crate::device;
use crate::error::Result;
use crate::graph::Gradient;
use crate::model::{Model, Network};

/// The back ends of [`crate::gradient`] that train networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackEnd {
    Aot,
    Autograd,
}

/// What a fit's options come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub device: Device,
    pub back_end: BackEnd,
    /// Why it is not the back end of `fGradient`.
    pub instead: Option<String>,
}

/// Decides without asking whether the machine has the device.
pub(super) fn choose(options: &Options, model: &Model) -> Result<Choice> {
    let obstacle = match model.network() {
        Network::Mlp(_) => None,
        Network::Module(module) => module.why_libtorch(),
    };
    choose_for(options, obstacle)
}

/// `obstacle`: why the network has no derivatives by Clad.
fn choose_for(options: &Options, obstacle: Option<&str>) -> Result<Choice> {
    let device = device::named(&options.device)?;
    let (back_end, instead) = match (options.gradient, device, obstacle) {
        (Gradient::Clad, Device::Cpu, None) => (BackEnd::Aot, None),
        (Gradient::Clad, Device::Cpu, Some(obstacle)) => (BackEnd::Autograd, Some(obstacle)),
        (Gradient::Clad, _, _) => (BackEnd::Autograd, Some("Clad's kernels run on the CPU only")),
        (Gradient::Autograd, _, _) => (BackEnd::Autograd, None),
    };
    Ok(Choice { device, back_end, instead: instead.map(str::to_owned) })
}

impl Choice {
    /// What a fit says of `engine`, which runs.
    pub fn describe(&self, engine: &str) -> String {
        match &self.instead {
            Some(reason) => format!("{engine}; {reason}"),
            None => engine.to_owned(),
        }
    }
}

/// Whether kernels run a fit, of which several may then run at once: LibTorch's modules cannot.
pub fn runs_on_kernels(options: &Options, model: &Model) -> Result<bool> {
    checks::check_alone(options, "several fits at once")?;
    Ok(choose(options, model)?.back_end == BackEnd::Aot)
}

/// The least `fVerbose` with which a fit says what runs where.
pub fn verbosity_of_back_end(options: &Options, model: &Model) -> Result<i32> {
    Ok(if choose(options, model)?.instead.is_some() { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_and_demand_has_its_back_end() {
        let (clad, autograd) = (Gradient::Clad, Gradient::Autograd);
        let (replaced, missing) = (Some("Clad's kernels run on the CPU only"), Some("an operator has no kernel"));
        for (device, gradient, obstacle, expected) in [
            ("cpu", clad, None, (Device::Cpu, BackEnd::Aot, None)),
            ("cpu", clad, missing, (Device::Cpu, BackEnd::Autograd, missing)),
            ("cpu", autograd, None, (Device::Cpu, BackEnd::Autograd, None)),
            ("cpu", autograd, missing, (Device::Cpu, BackEnd::Autograd, None)),
            ("cuda", clad, None, (Device::Cuda(0), BackEnd::Autograd, replaced)),
            ("cuda:0", clad, None, (Device::Cuda(0), BackEnd::Autograd, replaced)),
            ("cuda:3", autograd, None, (Device::Cuda(3), BackEnd::Autograd, None)),
        ] {
            let options = Options { device: device.into(), gradient, ..Options::default() };
            let Choice { device, back_end, instead } = choose_for(&options, obstacle).unwrap();
            assert_eq!((device, back_end, instead.as_deref()), expected, "{options:?}");
        }
    }

    #[test]
    fn the_reason_is_said_with_the_back_end() {
        let options = Options { device: "cuda:0".into(), ..Options::default() };
        let said = choose_for(&options, None).unwrap().describe("autograd");
        assert_eq!(said, "autograd; Clad's kernels run on the CPU only");
        let asked = Options { gradient: Gradient::Autograd, ..options };
        assert_eq!(choose_for(&asked, None).unwrap().describe("autograd"), "autograd");
    }
}
