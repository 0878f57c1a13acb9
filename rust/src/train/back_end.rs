//! The back ends of fits.

use super::{Options, checks};
use crate::device;
use crate::error::Result;
use crate::gradient::{BackEnd, Choice};
use crate::model::Model;

/// Decides without asking whether the machine has the device.
pub(super) fn choose(options: &Options, model: &Model) -> Result<Choice> {
    Ok(Choice::for_network(options.gradient, device::named(&options.device)?, model.why_libtorch()))
}

/// Whether kernels of the CPU run a fit, so that several may run at once: LibTorch's modules cannot.
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
    use crate::graph::{Activation, Gradient, Init};

    #[test]
    fn a_fit_on_another_device_says_what_runs() {
        let model = Model::new(&[2, 1], Activation::ReLU, Init::Uniform, 1).unwrap();
        let (clad, autograd) = (Gradient::Clad, Gradient::Autograd);
        for (device, gradient, kernels, verbosity) in [
            ("cpu", clad, true, 2),
            ("cpu", autograd, false, 2),
            ("cuda:3", clad, false, 2),
            ("cuda", autograd, false, 2),
        ] {
            let options = Options { device: device.into(), gradient, ..Options::default() };
            assert_eq!(runs_on_kernels(&options, &model).unwrap(), kernels, "{device}");
            assert_eq!(verbosity_of_back_end(&options, &model).unwrap(), verbosity, "{device}");
        }
    }
}
