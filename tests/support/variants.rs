//! The kernels for narrower registers than those of this processor.

use std::env;
use std::process::Command;

use cladtorch::kernels::variant_name;

use crate::say::say;

const VARIABLE: &str = "CLADTORCH_KERNELS";

/// Runs `tests` of this program, the caller among them, again with each of them. In those second processes it checks
/// that they use the requested kernels.
pub fn pass_too(tests: &[&str]) {
    let name = variant_name().to_lowercase();
    if let Some(wanted) = env::var_os(VARIABLE) {
        assert_eq!(Some(name.as_str()), wanted.to_str());
        return;
    }
    let program = env::current_exe().unwrap();
    for variant in ["portable", "avx2", "avx512"].into_iter().take_while(|variant| *variant != name) {
        let output = Command::new(&program).arg("--exact").args(tests).env(VARIABLE, variant).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = format!("{} passed", tests.len());
        assert!(output.status.success() && text.contains(&passed), "{variant}: {text}");
    }
    say(&format!("kernels tested: those up to {name}; this processor has no wider registers"));
}
