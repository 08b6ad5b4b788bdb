//! Names that tell a process's part, as data. A pattern only refines a label: whether memory is counted never depends
//! on a name.

use lowtide_model::Role;

use crate::facts::{Facts, base_name};

/// What of a process is compared.
#[derive(Clone, Copy, Debug)]
enum Where {
    /// The program's name: comm, the first argument's file name, or for an interpreter its script's file name.
    Program,
    /// The module after `python -m`, whole or its start before a dot.
    Module,
    /// Any argument holds this text.
    AnyArgument,
    /// The comm begins so.
    CommStart,
}

struct Pattern {
    at: Where,
    names: &'static [&'static str],
    role: Role,
    /// In words; `{}` becomes the name that matched.
    reason: &'static str,
}

/// The first match counts.
const PATTERNS: &[Pattern] = &[
    Pattern {
        at: Where::AnyArgument,
        names: &["multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker", "loky.backend.resource_tracker"],
        role: Role::ResourceTracker,
        reason: "its command line runs {}",
    },
    Pattern {
        at: Where::CommStart,
        names: &["pt_data_worker"],
        role: Role::DataloaderWorker,
        reason: "named {}, as torch names its DataLoader workers",
    },
    Pattern {
        at: Where::AnyArgument,
        names: &["torch/_inductor/compile_worker", "torch._inductor.compile_worker"],
        role: Role::CompileWorker,
        reason: "its command line runs {}",
    },
    Pattern {
        at: Where::CommStart,
        names: &["pt_compile_work", "pt_compile", "inductor_"],
        role: Role::CompileWorker,
        reason: "named {}, as torch names its compile workers",
    },
    Pattern {
        at: Where::Program,
        names: &[
            "nvcc",
            "cicc",
            "ptxas",
            "fatbinary",
            "cudafe++",
            "nvlink",
            "hipcc",
            "triton",
            "cc1",
            "cc1plus",
            "collect2",
            "as",
            "ld",
            "ld.bfd",
            "ld.gold",
            "ld.lld",
            "lld",
            "gcc",
            "g++",
            "cc",
            "c++",
            "clang",
            "clang++",
            "ninja",
            "cmake",
            "icpx",
            "neuronx-cc",
        ],
        role: Role::CompileWorker,
        reason: "the program {} compiles",
    },
    Pattern {
        at: Where::Module,
        names: &[
            "torch.distributed.run",
            "torch.distributed.launch",
            "torch.distributed.elastic",
            "accelerate",
            "deepspeed",
            "horovod",
            "lightning",
            "colossalai",
            "mpi4py",
            "composer",
            "debugpy",
            "pdb",
            "cProfile",
            "memory_profiler",
            "scalene",
            "memray",
            "multiprocessing.forkserver",
        ],
        role: Role::Launcher,
        reason: "the module {} starts other programs",
    },
    Pattern {
        at: Where::AnyArgument,
        names: &["multiprocessing.forkserver"],
        role: Role::Launcher,
        reason: "{} starts workers when asked to",
    },
    Pattern {
        at: Where::Program,
        names: &[
            // Training launchers.
            "torchrun",
            "accelerate",
            "deepspeed",
            "horovodrun",
            "colossalai",
            "composer",
            "fabric",
            "lightning",
            "mpirun",
            "mpiexec",
            "mpiexec.hydra",
            "orterun",
            "prterun",
            "hydra_pmi_proxy",
            "orted",
            "srun",
            "slurmstepd",
            "jsrun",
            "aprun",
            "flux",
            // Environments.
            "uv",
            "uvx",
            "poetry",
            "conda",
            "mamba",
            "micromamba",
            "pixi",
            "pipenv",
            "pdm",
            "hatch",
            "rye",
            "pyenv",
            "nix",
            "direnv",
            "singularity",
            "apptainer",
            "enroot",
            "docker",
            "podman",
            "bwrap",
            "dvc",
            // Wrappers that change how a program runs.
            "env",
            "nice",
            "ionice",
            "chrt",
            "taskset",
            "numactl",
            "nohup",
            "setsid",
            "time",
            "timeout",
            "stdbuf",
            "unbuffer",
            "script",
            "sudo",
            "su",
            "doas",
            "runuser",
            "setpriv",
            "xargs",
            "parallel",
            "make",
            "just",
            "systemd-run",
            "firejail",
            "xvfb-run",
            "prlimit",
            "flock",
            "watch",
            "strace",
            "ltrace",
            "gdb",
            "nsys",
            "ncu",
            "rocprof",
            "mprof",
            // First processes of containers and terminals.
            "tini",
            "dumb-init",
            "docker-init",
            "catatonit",
            "s6-svscan",
            "supervisord",
            "screen",
            "tmux",
            "tmux: server",
            // Shells.
            "sh",
            "bash",
            "dash",
            "zsh",
            "fish",
            "ksh",
            "csh",
            "tcsh",
            "ash",
            "busybox",
        ],
        role: Role::Launcher,
        reason: "{} starts other programs",
    },
];

/// The part that the names of a process give it, with the reason.
pub fn by_name(facts: &Facts) -> Option<(Role, String)> {
    PATTERNS.iter().find_map(|pattern| {
        let name = pattern.names.iter().find(|name| matches(pattern.at, name, facts))?;
        Some((pattern.role, pattern.reason.replace("{}", &format!("`{name}`"))))
    })
}

fn matches(at: Where, name: &str, facts: &Facts) -> bool {
    match at {
        Where::CommStart => facts.comm.starts_with(name),
        // The interpreter's own options: what comes after the script is the script's affair. `-c` code is one of them.
        Where::AnyArgument => facts.is_python() && facts.args.iter().take(8).any(|arg| arg.contains(name)),
        Where::Module => module(facts)
            .is_some_and(|module| module.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))),
        Where::Program if facts.is_python() => script(facts).is_some_and(|script| base_name(script) == name),
        Where::Program => {
            let first = facts.args.first().map(|arg| base_name(arg).trim_start_matches('-')).unwrap_or_default();
            facts.comm == name || facts.exe == name || first == name
        }
    }
}

/// The module after `-m`, if it comes before a script.
fn module(facts: &Facts) -> Option<&str> {
    if !facts.is_python() {
        return None;
    }
    let mut args = facts.args.iter().skip(1);
    while let Some(arg) = args.next() {
        if arg == "-m" {
            return args.next().map(String::as_str);
        }
        if !arg.starts_with('-') || arg == "-c" {
            return None;
        }
        if matches!(arg.as_str(), "-X" | "-W") {
            args.next();
        }
    }
    None
}

/// The script of an interpreter: its first argument that is no option.
fn script(facts: &Facts) -> Option<&str> {
    let mut args = facts.args.iter().skip(1);
    while let Some(arg) = args.next() {
        if matches!(arg.as_str(), "-m" | "-c") {
            return None;
        }
        if matches!(arg.as_str(), "-X" | "-W") {
            args.next();
        } else if !arg.starts_with('-') {
            return Some(arg);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role_of(line: &str, exe: &str) -> Option<Role> {
        let args: Vec<String> = line.split(' ').map(String::from).collect();
        by_name(&Facts { comm: exe.to_owned(), exe: exe.to_owned(), args, ..Facts::default() }).map(|(role, _)| role)
    }

    #[test]
    fn knows_launchers_trackers_and_compilers() {
        for (line, exe, role) in [
            (
                "/usr/bin/python3 -B -c from multiprocessing.resource_tracker import main;main(5)",
                "python3.11",
                Some(Role::ResourceTracker),
            ),
            ("/venv/bin/python /venv/bin/torchrun --nproc 2 t.py", "python3.12", Some(Role::Launcher)),
            ("python -u -m torch.distributed.run t.py", "python3.12", Some(Role::Launcher)),
            ("python -X dev -m accelerate.commands.launch t.py", "python3.12", Some(Role::Launcher)),
            ("uv run t.py", "uv", Some(Role::Launcher)),
            ("-bash", "bash", Some(Role::Launcher)),
            ("/usr/local/cuda/bin/ptxas -o x", "ptxas", Some(Role::CompileWorker)),
            ("python /x/torch/_inductor/compile_worker/__main__.py --workers=8", "python3.12", Some(Role::CompileWorker)),
            // The script's own arguments and names do not matter.
            ("python train.py -m torchrun", "python3.12", None),
            ("python train.py --launcher bash", "python3.12", None),
            ("python -m mypackage.train", "python3.12", None),
            ("python -m accelerated.train", "python3.12", None),
            ("", "", None),
        ] {
            assert_eq!(role_of(line, exe), role, "{line}");
        }
    }
}
