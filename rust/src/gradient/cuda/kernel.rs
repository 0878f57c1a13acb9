//! A kernel in float32 as text.

use super::program::{Kernel, Waits};
use crate::cache::Cache;

/// The kernel of this body in float32, with parameters that are declared so. `bounds` stands before its name.
pub fn kernel(what: &str, bounds: &str, parameters: &[&str], body: String, waits: Waits) -> Kernel {
    let list = parameters.join(", ");
    let name = format!("ct_{what}_{}", &Cache::key(&[&list, &body])[..32]);
    let text = format!("extern \"C\" __global__ void {bounds}{name}({list})\n{{\n{body}}}\n");
    Kernel {
        name,
        types: ["float", "uint32_t"],
        text,
        before: String::new(),
        parameters: parameters.iter().map(|of| type_of(of)).collect(),
        waits,
        shared: 0,
        cluster: 1,
    }
}

/// The type of a parameter that is declared like this.
fn type_of(declared: &str) -> String {
    declared[..declared.rfind([' ', '*']).map_or(0, |end| end + 1)].to_owned()
}
