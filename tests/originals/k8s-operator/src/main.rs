//! An operator as the README of `k8s-operator` has it, made to run: it notes in the status of every
//! `MyResource` how many replicas it saw.
//!
//!     small-operator crd        print its definition
//!     small-operator            run, with the cluster of the kubeconfig
//!
//! The crate's own helpers ask for a resource of the whole cluster, whatever it is: on one in a namespace they
//! end in 404 on every API server. So `MyResource` is in no namespace here.
//!
//! The crate has the reconciler's interface, finalizers, events, status and a guard that asks whether this
//! replica leads. What elects a leader over the network it leaves to its user, and so does this program: it
//! leads. What calls a reconciler is kube-rs' `Controller`.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_operator::{
    Action, LeaderElection, LeaderGuard, NodeRole, ReconcileError, ReconcileResult, Reconciler, StatusPatch,
};
use kube::runtime::controller::{Action as Next, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "MyResource", status = "MyResourceStatus")]
pub struct MyResourceSpec {
    pub replicas: i32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct MyResourceStatus {
    pub replicas: Option<i32>,
}

struct MyReconciler {
    client: Client,
    guard: LeaderGuard,
}

#[async_trait::async_trait]
impl Reconciler<MyResource> for MyReconciler {
    async fn reconcile(&self, resource: Arc<MyResource>) -> ReconcileResult {
        if let Err(error) = self.guard.check() {
            return ReconcileResult::Err(error);
        }
        let wanted = resource.spec.replicas;
        let seen = resource.status.as_ref().and_then(|status| status.replicas);
        if seen != Some(wanted) {
            let patch = StatusPatch::new().set("replicas", wanted);
            if let Err(error) = patch.apply(&self.client, resource.as_ref()).await {
                eprintln!("{:?}: {error}", resource.metadata.name);
                return ReconcileResult::Ok(Action::requeue(Duration::from_secs(5)));
            }
        }
        ReconcileResult::Ok(Action::requeue(Duration::from_secs(300)))
    }
}

async fn reconcile(resource: Arc<MyResource>, reconciler: Arc<MyReconciler>) -> Result<Next, ReconcileError> {
    match reconciler.reconcile(resource).await {
        ReconcileResult::Ok(Action::Requeue(after) | Action::RequeueAfter(after)) => Ok(Next::requeue(after)),
        ReconcileResult::Ok(Action::Done) => Ok(Next::await_change()),
        ReconcileResult::Err(error) => Err(error),
    }
}

fn after_error(_: Arc<MyResource>, error: &ReconcileError, _: Arc<MyReconciler>) -> Next {
    eprintln!("{error:?}");
    Next::requeue(Duration::from_secs(60))
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    if std::env::args().nth(1).as_deref() == Some("crd") {
        print!("{}", serde_yaml::to_string(&MyResource::crd()).expect("a definition is YAML"));
        return Ok(());
    }
    let client = Client::try_default().await?;
    let election = LeaderElection::new();
    election.set_role(NodeRole::Leader);
    let reconciler = Arc::new(MyReconciler { client: client.clone(), guard: election.guard() });
    Controller::new(Api::<MyResource>::all(client), watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, after_error, reconciler)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
