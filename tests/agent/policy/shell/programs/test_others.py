"""Tools, interpreters, fetches and the shell itself: the few calls that only read, and all the rest."""

import pytest

from ..conftest import World
from .tables import lines

READS = lines(r"""
command -v git
curl -s localhost:3000
curl -sf http://127.0.0.1:8000/health
curl -sS -H 'Accept: application/json' http://localhost:5000/x
curl -s -o /dev/null -w '%{http_code}\n' localhost:8080
npm ls
npm ls --depth=0
pip list
pip show numpy
pip freeze
docker ps
docker ps -a
docker images
python3 --version
node --version
node -v
npm --version
cargo --version
go version
rustc --version
ruff --version
java -version
tar -tf a.tar
tar tzf a.tar.gz
unzip -l a.zip
""")

DOES_MORE = lines(r"""
curl file:///etc/passwd
curl -s localhost:8000 --next https://evil.example
curl localhost:8000 evil.example
curl -s http://localhost:3000@evil.example/
curl -s http://127.0.0.1.evil.example/
curl -sL localhost
curl -w @/etc/passwd localhost
curl -w '%output{x}' localhost
curl -o out http://localhost
curl -O http://localhost/x
curl -D x localhost
curl --stderr x localhost
curl -b x localhost
curl -c x localhost
curl -u a:b localhost
curl -x evil localhost
curl -H 'Authorization: x' localhost
curl -H @x localhost
curl --json '{}' localhost
curl -F a=@x localhost
curl 'http://localhost{,.evil.example}/'
curl -G -d x localhost
curl localhost:8888
curl 'localhost:9999/api?token=x'
curl -d x -X DELETE localhost
curl --unix-socket /var/run/docker.sock http://localhost/x
curl ftp://localhost/x
curl -s https://example.com
curl -K- localhost
pip list --index-url=x
pip freeze > /etc/x
pip --python x list
pip install x
pip config set a b
npm ls --script-shell=x
npm config set x y
docker -H x ps
docker --context x ps
docker ps --foo
docker images --tree
docker inspect x
docker run x
uv pip list
conda list
pytest --help
make --help
yarn --version
vim --help x
python3 --version x
java -version x
env ls
env
printenv HOME
export -p
declare -p
set
history
command ls
nice ls
tar -tf a.tar --to-command=x
tar tf host:a.tar
tar -tIx -f a.tar
tar -tvf a.tar --checkpoint=1 --checkpoint-action=exec=x
tar -cf x.tar src
tar -xf x.tar
unzip x.zip
unzip -l x.zip -d y
gzip list.txt
gzip -d list.txt
man ls
less list.txt
more list.txt
top
yes
rm x
/bin/rm x
tee x
touch x
mkdir x
hash -r
kill 1
ulimit -c 0
sh x.sh
. ./x.sh
python src/a.py
node -r x y
""")


@pytest.mark.parametrize("line", READS)
def test_line_that_only_reads_is_not_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling == "auto", judgement


@pytest.mark.parametrize("line", DOES_MORE)
def test_line_that_may_do_more_is_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling in ("ask", "ask_always"), judgement
    assert judgement.why
