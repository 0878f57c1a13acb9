//! Training on a GPU if there is one; the message if there is none.

use cladtorch::device;
use cladtorch::graph::{Activation, Init};
use cladtorch::model::Model;
use cladtorch::train::{Options, Trainer};
use support::data::{circle, spec};
use support::say::say;

fn history(device: &str) -> Vec<f64> {
    let data = circle(1000, 4);
    let model = Model::new(&[2, 32, 32, 1], Activation::ReLU, Init::Kaiming, 2).unwrap();
    let mut trainer = Trainer::new(&model, &data, &Options { device: device.into(), ..spec() }).unwrap();
    (0..5).map(|_| trainer.epoch(&data).unwrap().validation_loss).collect()
}

#[test]
fn a_gpu_writes_the_history_of_the_cpu_or_says_what_is_missing() {
    match device::open("cuda:0") {
        Ok(_) => {
            for (gpu, cpu) in history("cuda:0").iter().zip(history("cpu")) {
                assert!((gpu - cpu).abs() < 1e-3 * cpu, "{gpu} {cpu}");
            }
        }
        Err(error) => {
            let message = error.to_string();
            say(&format!("no GPU was tried: {message}"));
            let parts = ["driver", "GPU", "libtorch_cuda", "CUDA library"];
            assert!(parts.iter().any(|part| message.contains(part)), "{message}");
            assert!(message.contains("\"cuda:0\"") && message.contains("use \"cpu\""), "{message}");
        }
    }
}
