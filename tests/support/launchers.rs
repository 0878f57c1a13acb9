//! The launchers of a job: every installed implementation of MPI, `mpirun.openmpi` and `mpirun.mpich` (Debian's
//! packages `openmpi-bin` and `mpich`), or otherwise `mpirun`.

use std::env;
use std::path::PathBuf;

/// Options that Open MPI requires before it starts more processes than cores, and root's in a container.
pub const ALLOWANCES: [&str; 3] =
    ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"];

/// The available ones.
pub fn launchers() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists());
    let by_name: Vec<PathBuf> = ["mpirun.openmpi", "mpirun.mpich"].into_iter().filter_map(found).collect();
    if by_name.is_empty() { found("mpirun").into_iter().collect() } else { by_name }
}
