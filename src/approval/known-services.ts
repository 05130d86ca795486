import type { Family } from './known-commands.ts';

const TABLE = '--filter=text --format=text -f=text --no-trunc -q --quiet';
const LOGS = '-t --timestamps --tail=word --since=text --until=text';
const NAMESPACE = '-n=word --namespace=word';
const LIST =
  '-L=number -s=word -l=text -a=text -S=text -R=repo --limit=number --state=word --label=text --assignee=text --author=text --search=text --repo=repo --json=word';

/** Containers, clusters and hosts of code: what looks, and shows no credentials. Never another host, context or file. */
export const SERVICES: readonly Family[] = [
  {
    page: 'https://docs.docker.com/reference/cli/docker/',
    rows: {
      docker: 'none: -v --version',
      'docker diff': 'names:',
      'docker history': `names: ${TABLE}`,
      'docker images': `names: ${TABLE} -a --all --digests`,
      'docker image ls|list': `names: ${TABLE} -a --all --digests`,
      'docker info': 'none:',
      'docker logs': `names: ${LOGS} -n=word --details`,
      'docker network ls|list': `none: ${TABLE}`,
      'docker port': 'names:',
      'docker ps': `none: ${TABLE} -a -l -n=number -s --all --last=number --latest --size`,
      'docker container ps|ls|list': `none: ${TABLE} -a -l -n=number -s --all --last=number --latest --size`,
      'docker stats --no-stream': `names: ${TABLE} -a --all`,
      'docker system df': 'none: -v --verbose',
      'docker top': 'names:',
      'docker version': 'none: -f=text --format=text',
      'docker volume ls|list': `none: ${TABLE}`,
    },
  },
  {
    page: 'https://docs.docker.com/reference/cli/docker/compose/',
    rows: {
      'docker compose images': 'names: -q --quiet --format=word',
      'docker compose logs': `names: ${LOGS} -n=word --no-color --no-log-prefix`,
      'docker compose ls': 'none: -a -q --all --quiet --format=word',
      'docker compose ps': 'names: -a -q --all --quiet --services --status=word --format=word --no-trunc',
      'docker compose top': 'names:',
      'docker compose version': 'none: --short',
      'docker-compose images': 'names: -q --quiet --format=word',
      'docker-compose logs': `names: ${LOGS} -n=word --no-color --no-log-prefix`,
      'docker-compose ps': 'names: -a -q --all --quiet --services --status=word --format=word',
      'docker-compose top': 'names:',
      'docker-compose version': 'none: --short',
    },
  },
  {
    page: 'https://kubernetes.io/docs/reference/kubectl/generated/',
    rows: {
      'kubectl api-resources': 'none: --no-headers -o=wide|name',
      'kubectl cluster-info': 'none:',
      'kubectl config current-context': 'none:',
      'kubectl config get-contexts': 'none:',
      'kubectl describe': `resource ids: ${NAMESPACE} -A -l=text --all-namespaces --selector=text`,
      'kubectl explain': 'names: --recursive',
      'kubectl get': `resource ids: ${NAMESPACE} -A -l=text -o=wide|name --all-namespaces --field-selector=text --no-headers --output=wide|name --selector=text --show-labels --sort-by=text`,
      'kubectl logs': `names: ${NAMESPACE} -c=word -l=text -p --all-containers --container=word --prefix --previous --selector=text --since=word --tail=number --timestamps`,
      'kubectl rollout history': `resource ids: ${NAMESPACE}`,
      'kubectl rollout status': `resource ids: ${NAMESPACE} --timeout=word`,
      'kubectl top node|nodes|no': 'names: --no-headers',
      'kubectl top pod|pods|po': `names: ${NAMESPACE} -A --all-namespaces --containers --no-headers`,
      'kubectl version': 'none: --client -o=json|yaml',
    },
  },
  {
    page: 'https://cli.github.com/manual/',
    rows: {
      gh: 'none: --version',
      'gh issue list|ls': `none: ${LIST}`,
      'gh issue status': 'none:',
      'gh issue view': 'names: -c -R=repo --comments --repo=repo --json=word',
      'gh pr checks': 'names: -R=repo --repo=repo --required',
      'gh pr diff': 'names: -R=repo --repo=repo --name-only --patch --color=always|never|auto',
      'gh pr list|ls': `none: ${LIST} -B=names -H=names -d --base=names --head=names --draft`,
      'gh pr status': 'none:',
      'gh pr view': 'names: -c -R=repo --comments --repo=repo --json=word',
      'gh release list|ls': 'none: -L=number -R=repo --limit=number --repo=repo',
      'gh release view': 'names: -R=repo --repo=repo',
      'gh repo list|ls': 'names: -L=number --limit=number',
      'gh repo view': 'repo:',
      'gh run list|ls':
        'none: -L=number -R=repo -b=names -s=word -w=text --branch=names --limit=number --repo=repo --status=word --workflow=text --json=word',
      'gh run view':
        'names: -R=repo -v -j=word --repo=repo --verbose --exit-status --log --log-failed --job=word --json=word',
      'gh workflow list|ls': 'none: -a -L=number -R=repo --all --limit=number --repo=repo',
      'gh workflow view': 'names: -R=repo --repo=repo',
    },
  },
];
