//! Which back end runs where, for each device and `fGradient`.

use tch::Device;

use super::options::unknown;
use crate::bridge::FitSpec;
use crate::device;
use crate::error::Result;
use crate::graph::Gradient;

/// The back ends of [`crate::gradient`] that train networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackEnd {
    Aot,
    Autograd,
}

/// What a fit's options come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub device: Device,
    pub back_end: BackEnd,
    /// Why it is not the back end of `fGradient`.
    pub instead: Option<&'static str>,
}

/// Decides without asking whether the machine has the device.
pub(super) fn choose(spec: &FitSpec) -> Result<Choice> {
    let device = device::named(&spec.device)?;
    let gradient = Gradient::from_number(spec.gradient).ok_or_else(|| unknown("fGradient", spec.gradient))?;
    let (back_end, instead) = match (gradient, device) {
        (Gradient::Clad, Device::Cpu) => (BackEnd::Aot, None),
        (Gradient::Clad, _) => (BackEnd::Autograd, Some("Clad's kernels run on the CPU only")),
        (Gradient::Autograd, _) => (BackEnd::Autograd, None),
    };
    Ok(Choice { device, back_end, instead })
}

impl Choice {
    /// What a fit says of `engine`, which runs.
    pub fn describe(&self, engine: &str) -> String {
        match self.instead {
            Some(reason) => format!("{engine}; {reason}"),
            None => engine.to_owned(),
        }
    }
}

/// The least `fVerbose` with which a fit says what runs where.
pub fn verbosity_of_back_end(spec: &FitSpec) -> Result<i32> {
    Ok(if choose(spec)?.instead.is_some() { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_and_demand_has_its_back_end() {
        let (clad, autograd) = (Gradient::Clad as u8, Gradient::Autograd as u8);
        let replaced = Some("Clad's kernels run on the CPU only");
        for (device, gradient, expected) in [
            ("cpu", clad, (Device::Cpu, BackEnd::Aot, None, 2)),
            ("cpu", autograd, (Device::Cpu, BackEnd::Autograd, None, 2)),
            ("cuda", clad, (Device::Cuda(0), BackEnd::Autograd, replaced, 1)),
            ("cuda:0", clad, (Device::Cuda(0), BackEnd::Autograd, replaced, 1)),
            ("cuda:3", autograd, (Device::Cuda(3), BackEnd::Autograd, None, 2)),
        ] {
            let spec = FitSpec { device: device.into(), gradient, ..FitSpec::default() };
            let Choice { device, back_end, instead } = choose(&spec).unwrap();
            assert_eq!((device, back_end, instead, verbosity_of_back_end(&spec).unwrap()), expected, "{spec:?}");
        }
    }

    #[test]
    fn the_reason_is_said_with_the_back_end() {
        let spec = FitSpec { device: "cuda:0".into(), ..FitSpec::default() };
        let said = choose(&spec).unwrap().describe("autograd");
        assert_eq!(said, "autograd; Clad's kernels run on the CPU only");
        let asked = FitSpec { gradient: Gradient::Autograd as u8, ..spec };
        assert_eq!(choose(&asked).unwrap().describe("autograd"), "autograd");
    }
}
