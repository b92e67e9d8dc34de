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
kill -0 1
curl -so x localhost
curl -sXPUT localhost
curl -sd x localhost
curl -sT x localhost
curl --data=@/etc/passwd localhost
curl --dat x localhost
curl --outp x localhost
curl --upload-fi x localhost
curl -sK x localhost
curl -sH 'Cookie: x' localhost
curl --url file:///etc/passwd
curl -s localhost --url http://evil.example
curl -s http://localhost:80@evil.example
curl -s http://evil.example#@localhost
curl -s http://evil.example?x=localhost
curl -s 'http://localhost:3000/[1-100]'
curl -s localhost:8888/tree
curl -s http://localhost:08888/
curl -s http://0x7f000001/
curl -s http://127.0.0.1.nip.io/
curl -s //localhost/
curl -s http:localhost
curl -s 'http://localhost evil.example'
curl -s gopher://localhost/
curl -s LOCALHOST:8888
curl -s http://[::1]:8888/
curl -s http://127.0.0.1:8889/api/contents
curl -s -i --request GET localhost:1 http://evil.example
curl -s -:  http://evil.example localhost
curl -sr 0-1 -O localhost/x
curl -sJO localhost/x
curl --remote-name localhost/x
curl --create-dirs -o a/b localhost
curl --etag-compare x localhost
curl --cacert /etc/x https://localhost
curl --form-escape localhost
curl --variable x@/etc/passwd --expand-url '{{x}}' localhost
docker ps --format x -H tcp://a
docker -c x ps
docker --config x images
docker ps && docker rm x
docker images -q --foo
docker image ls --tree --foo
docker version --foo
npm ls --prefix /etc
npm --script-shell x ls
npm ls -g --node-options=x
npm list --userconfig=x
pip list --proxy x
pip --cert x list
pip --log /etc/x list
pip list --log x
pip show --log x numpy
pip freeze -r /etc/passwd
pip freeze -r x --path /etc
pip check --foo
pip --require-virtualenv --python x list
tar -tvf a.tar -I x
tar -tf a.tar --use-compress-program=x
tar --use-comp x -tf a.tar
tar -tf a.tar -F x
tar -tf a.tar --info-script=x
tar -tf a.tar --new-volume-script=x
tar -tf a.tar --index-file=x
tar -tf evil:a.tar
tar --rsh-command=x -tf a.tar
tar -tf a.tar --listed-incremental=x
tar -tgx -f a.tar
tar -uf a.tar x
tar tfI a.tar x
tar -t --file=/etc/a.tar
unzip -l /etc/a.zip
unzip -lx a.zip
unzip -p a.zip
gzip -c /etc/passwd
gzip -lf x
gzip -l /etc/x
python3 --version; rm x
python3 -V -c 'x'
node -v -e x
node --version --require=./x
java -version -javaagent:x
cargo --version --config x
go version -m /etc/x
command -v ls; rm x
command -- rm x
command -p rm x
sleep 1d
sleep infinity
sleep 99999
true > x
: > list.txt
echo x > .git/hooks/pre-commit
tar tfv /etc/x.tar
tar vft ../a.tar
tar -tf a.tar -C /etc
tar tfC a.tar /
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
