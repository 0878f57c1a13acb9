//! The back ends of fits, and how several fits share the machine.

use super::{Options, checks};
use crate::dataset::Dataset;
use crate::device;
use crate::error::Result;
use crate::gradient::cuda::{Gpu, Nvrtc, Sharing, bytes_of_fit};
use crate::gradient::{BackEnd, Choice};
use crate::model::Model;
use tch::Device;

/// Decides without asking whether the machine has the device.
pub(super) fn choose(options: &Options, model: &Model) -> Result<Choice> {
    Ok(Choice::for_network(options.gradient, device::named(&options.device)?, model.why_libtorch()))
}

/// How so many fits of such models to `data` share the machine: where kernels run them several may run at once, on the CPU as many as
/// `options` has threads, on a GPU each with a part of it. LibTorch's modules cannot.
pub fn sharing(options: &Options, model: &Model, data: &Dataset, fits: usize) -> Result<Sharing> {
    checks::check_alone(options, "several fits at once")?;
    let sharing = match (choose(options, model)?.back_end, device::named(&options.device)?) {
        (BackEnd::Aot, _) => Some(Sharing { parts: 1, at_once: fits.min(options.threads).max(1) }),
        (BackEnd::Cuda, Device::Cuda(index)) => on_gpu(options, model, data, fits, index),
        _ => None,
    };
    Ok(sharing.unwrap_or(Sharing::ALONE))
}

/// None where LibTorch trains the models for sure, or nothing does.
fn on_gpu(options: &Options, model: &Model, data: &Dataset, fits: usize, index: usize) -> Option<Sharing> {
    let (module, _) = (model.module()?, Nvrtc::find().ok()?);
    let gpu = Gpu::shared(u32::try_from(index).ok()?).ok()?;
    let width = data.width() + data.label_width() + 1;
    let bytes = bytes_of_fit(module, options.batch_size, data.rows(), width);
    Some(Sharing::new(&gpu, fits, bytes))
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
        let data = Dataset::new(&[]).unwrap();
        for (device, gradient, at_once, verbosity) in
            [("cpu", clad, 3, 2), ("cpu", autograd, 1, 2), ("cuda:200", clad, 1, 2), ("cuda", autograd, 1, 2)]
        {
            let options = Options { device: device.into(), gradient, threads: 3, ..Options::default() };
            assert_eq!(sharing(&options, &model, &data, 5).unwrap(), Sharing { parts: 1, at_once }, "{device}");
            assert_eq!(verbosity_of_back_end(&options, &model).unwrap(), verbosity, "{device}");
        }
    }
}
